package collective

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens"
)

var _ lens.Broadcaster = (*Group)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within is far more than anything here takes.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// job runs every rank of a job of n on a goroutine, and returns their errors.
func job(t *testing.T, n int, body func(context.Context, *Group) error) []error {
	t.Helper()
	ctx, file, errs := within(t), filepath.Join(t.TempDir(), "rendezvous"), make([]error, n)
	var running sync.WaitGroup
	for rank := range n {
		running.Go(func() {
			g, err := Join(ctx, rank, n, file)
			if err != nil {
				errs[rank] = err
				return
			}
			defer func() { _ = g.Close() }()
			errs[rank] = body(ctx, g)
		})
	}
	running.Wait()
	assert.NoFileExists(t, file)
	return errs
}

func TestOperations(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 5} {
		sums := make([][]float64, n)
		errs := job(t, n, func(ctx context.Context, g *Group) error {
			for root := range n {
				got, err := g.Broadcast(ctx, root, []byte{byte(g.Rank())})
				if err != nil || len(got) != 1 || int(got[0]) != root {
					return fmt.Errorf("rank %d got %v from %d: %w", g.Rank(), got, root, err)
				}
			}
			// Rounding makes the sum depend on the order of the ranks.
			sums[g.Rank()] = []float64{1 / float64(g.Rank()+3), float64(g.WorldSize())}
			return errors.Join(g.AllReduce(ctx, sums[g.Rank()]), g.Barrier(ctx))
		})
		require.NoError(t, errors.Join(errs...))
		want := 0.0
		for rank := range n {
			want += 1 / float64(rank+3)
		}
		for rank := range n {
			assert.Equal(t, []float64{want, float64(n * n)}, sums[rank], "rank %d of %d", rank, n)
		}
	}
}

// Whatever a rank does wrong, every rank fails with an error that names it.
func TestFaultsNameTheRank(t *testing.T) {
	t.Parallel()
	type step = func(context.Context, *Group) error
	for name, c := range map[string]struct {
		bad  int
		does step
		want string
	}{
		"it leaves":                {2, func(_ context.Context, g *Group) error { return g.Close() }, "rank 2: the connection"},
		"rank 0 leaves":            {0, func(_ context.Context, g *Group) error { return g.Close() }, "rank 0: the connection"},
		"it makes another call":    {1, func(ctx context.Context, g *Group) error { _, err := g.Broadcast(ctx, 1, nil); return err }, "rank 1: it is at a broadcast from rank 1 while rank 0 is at an all-reduce of 2 values"},
		"it passes another number": {1, func(ctx context.Context, g *Group) error { return g.AllReduce(ctx, nil) }, "rank 1: it is at an all-reduce of 0 values"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := job(t, 4, func(ctx context.Context, g *Group) error {
				if g.Rank() == c.bad {
					return c.does(ctx, g)
				}
				values := []float64{1, 2}
				err := g.AllReduce(ctx, values)
				if err == nil || values[0] != 1 || values[1] != 2 {
					return fmt.Errorf("values are %v after the error %w", values, err)
				}
				if again := g.Barrier(ctx); again != err {
					return fmt.Errorf("the group is of use after %w: %w", err, again)
				}
				return err
			})
			for rank, err := range errs {
				if rank == c.bad {
					continue
				}
				var fault *Fault
				require.ErrorAs(t, err, &fault)
				assert.Equal(t, c.bad, fault.Rank, err)
				assert.Contains(t, fault.Error(), c.want)
			}
		})
	}
}

// Nobody waits for ever for a rank that does nothing.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	var others sync.WaitGroup
	others.Add(2)
	go func() { others.Wait(); close(done) }()
	errs := job(t, 3, func(ctx context.Context, g *Group) error {
		if g.Rank() == 2 {
			<-done
			return nil
		}
		defer others.Done()
		if g.Rank() == 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
		}
		return g.Barrier(ctx)
	})
	assert.ErrorContains(t, errs[0], "rank 0: it gave up a barrier, waiting for rank ")
	assert.ErrorContains(t, errs[0], "deadline exceeded")
	assert.ErrorContains(t, errs[1], "rank 0: ")
}

func TestJoinRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rendezvous")
	for _, place := range [][2]int{{-1, 2}, {2, 2}, {0, 0}} {
		_, err := Join(t.Context(), place[0], place[1], file)
		assert.ErrorContains(t, err, "want 0 <= rank < world size")
	}
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Join(within(t), 0, 2, file)
	assert.ErrorContains(t, err, "give every job a path of its own")
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Join(soon, 1, 2, file)
	assert.ErrorContains(t, err, "rank 0 left no rendezvous file")
	soon, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Join(soon, 0, 3, file+"2")
	assert.ErrorContains(t, err, "2 of 3 ranks did not join: context deadline exceeded")
	assert.NoFileExists(t, file+"2")
}

// Rank 0 turns away what is not a missing rank, says why, and goes on waiting.
func TestStrangersAreTurnedAway(t *testing.T) {
	t.Parallel()
	ctx, file := within(t), filepath.Join(t.TempDir(), "rendezvous")
	first := make(chan error, 1)
	go func() {
		g, err := Join(ctx, 0, 2, file)
		if err == nil {
			err = errors.Join(g.Barrier(ctx), g.Close())
		}
		first <- err
	}()
	_, err := Join(ctx, 1, 3, file)
	assert.ErrorContains(t, err, "rank 0: it refused this process: rank 1 has a world size of 3, rank 0 has 2")
	m, err := awaitMeeting(ctx, file)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", m.Addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, gob.NewEncoder(conn).Encode(hello{Key: "guess", Rank: 1, World: 2}))
	var answer message
	require.NoError(t, gob.NewDecoder(conn).Decode(&answer))
	assert.Equal(t, "it refused this process: the key is not that of this job", answer.Fault.Text)

	g, err := Join(ctx, 1, 2, file)
	require.NoError(t, err)
	require.NoError(t, errors.Join(g.Barrier(ctx), <-first, g.Close()))
}
