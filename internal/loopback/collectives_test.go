package loopback_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/loopback"
	"github.com/nemo-lens/lens/internal/otlptest"
)

var _ lens.Broadcaster = (*loopback.Group)(nil)

func TestCollectives(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			groups := join(t, n, nil)
			require.NoError(t, errors.Join(onAll(groups, func(g *loopback.Group) error {
				ctx := soon(t)
				assert.Equal(t, n, g.WorldSize())
				for root := range n {
					want := bytes.Repeat([]byte{byte(root + 1)}, root*100_000)
					payload := []byte("ignored")
					if g.Rank() == root {
						payload = want
					}
					got, err := g.Broadcast(ctx, root, payload)
					if err != nil {
						return err
					}
					assert.True(t, bytes.Equal(want, got), "%d bytes from rank %d", len(got), root)
					assert.NotNil(t, got)
				}
				values := []float64{float64(g.Rank()), 1, -0.5}
				if err := g.AllReduce(ctx, loopback.Sum, values); err != nil {
					return err
				}
				assert.Equal(t, []float64{float64(n*(n-1)) / 2, float64(n), -0.5 * float64(n)}, values)
				values = []float64{float64(g.Rank())}
				if err := g.AllReduce(ctx, loopback.Mean, values); err != nil {
					return err
				}
				assert.Equal(t, []float64{float64(n-1) / 2}, values)
				if err := g.AllReduce(ctx, loopback.Sum, nil); err != nil {
					return err
				}
				return g.Barrier(ctx)
			})...))
		})
	}
}

// A rank's result does not share memory with what another one passed.
func TestBroadcastCopies(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		payload := []byte("abc")
		for _, err := range onAll(join(t, n, nil), func(g *loopback.Group) error {
			got, err := g.Broadcast(soon(t), 0, payload)
			if err == nil {
				got[0] = 'x'
			}
			return err
		}) {
			require.NoError(t, err)
		}
		assert.Equal(t, "abc", string(payload))
	}
}

// Float addition is not associative: all ranks must get the sum of one order,
// and every value must survive, also those that are no numbers.
func TestAllReduceGivesEveryRankTheSameBits(t *testing.T) {
	t.Parallel()
	const n = 5
	inputs := [n][]float64{
		{1e16, math.Inf(1), math.NaN(), math.Copysign(0, -1)},
		{1, 1, 1, math.Copysign(0, -1)},
		{-1e16, math.Inf(-1), 1, math.Copysign(0, -1)},
		{1, 1, 1, math.Copysign(0, -1)},
		{3, 1, 1, math.Copysign(0, -1)},
	}
	want := make([]uint64, 4)
	for i := range want {
		sum := inputs[0][i]
		for _, in := range inputs[1:] {
			sum += in[i]
		}
		want[i] = math.Float64bits(sum)
	}
	require.NoError(t, errors.Join(onAll(join(t, n, nil), func(g *loopback.Group) error {
		for range 20 {
			values := append([]float64(nil), inputs[g.Rank()]...)
			if err := g.AllReduce(soon(t), loopback.Sum, values); err != nil {
				return err
			}
			got := make([]uint64, len(values))
			for i, v := range values {
				got[i] = math.Float64bits(v)
			}
			assert.Equal(t, want[0], got[0])
			assert.True(t, math.IsNaN(values[1]) && math.IsNaN(values[2]))
			assert.Equal(t, want[3], got[3], "the sum of minus zeros")
		}
		return nil
	})...))
}

func TestBarrierHoldsEveryoneBack(t *testing.T) {
	t.Parallel()
	const n = 4
	var arrived atomic.Int32
	require.NoError(t, errors.Join(onAll(join(t, n, nil), func(g *loopback.Group) error {
		for round := range int32(50) {
			arrived.Add(1)
			if err := g.Barrier(soon(t)); err != nil {
				return err
			}
			if got := arrived.Load(); got < (round+1)*n {
				return fmt.Errorf("rank %d passed barrier %d after %d arrivals", g.Rank(), round, got)
			}
			if err := g.Barrier(soon(t)); err != nil {
				return err
			}
		}
		return nil
	})...))
}

// Concurrent calls of one rank are made one after the other.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	groups := join(t, 3, nil)
	require.NoError(t, errors.Join(onAll(groups, func(g *loopback.Group) error {
		same := []*loopback.Group{g, g, g, g, g, g, g, g}
		return errors.Join(onAll(same, func(g *loopback.Group) error {
			values := []float64{1}
			if err := g.AllReduce(soon(t), loopback.Sum, values); err != nil {
				return err
			}
			assert.Equal(t, []float64{3}, values)
			return nil
		})...)
	})...))
}

// What a caller gets wrong on its own is an error of that call and leaves the
// group usable.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	groups := join(t, 2, func(o *loopback.Options) { o.MaxPayload = 64 })
	ctx := soon(t)
	for _, root := range []int{-1, 2} {
		_, err := groups[0].Broadcast(ctx, root, nil)
		assert.ErrorContains(t, err, fmt.Sprintf("from rank %d: want 0 to 1", root))
	}
	_, err := groups[1].Broadcast(ctx, 1, make([]byte, 65))
	assert.ErrorContains(t, err, "65 bytes: the limit is 64")
	assert.ErrorContains(t, groups[0].AllReduce(ctx, loopback.Op(7), nil), "operation 7: want Sum or Mean")
	assert.ErrorContains(t, groups[0].AllReduce(ctx, loopback.Sum, make([]float64, 9)), "72 bytes")
	for _, err := range onAll(groups, func(g *loopback.Group) error { return g.AllReduce(ctx, loopback.Sum, make([]float64, 8)) }) {
		assert.NoError(t, err)
	}
}

func TestTraceContextReachesEveryRank(t *testing.T) {
	t.Parallel()
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	const root = 2
	require.NoError(t, errors.Join(onAll(join(t, 4, nil), func(g *loopback.Group) error {
		ctx := soon(t)
		if g.Rank() == root {
			ctx = lens.ExtractContext(ctx, map[string]string{"traceparent": traceparent})
		}
		carrier, err := lens.BroadcastTraceContext(ctx, g, g.Rank(), root)
		assert.Equal(t, map[string]string{"traceparent": traceparent}, carrier, "rank %d", g.Rank())
		return err
	})...))
}

func TestJoinByAddress(t *testing.T) {
	t.Parallel()
	addr := otlptest.ClosedAddr(t)
	groups := join(t, 3, func(o *loopback.Options) { o.File, o.Addr, o.Key = "", addr, "secret" })
	for _, err := range onAll(groups, func(g *loopback.Group) error { return g.Barrier(soon(t)) }) {
		assert.NoError(t, err)
	}
}

// The file is gone when all have met, so that the path can serve again.
func TestRendezvousFileIsRemoved(t *testing.T) {
	t.Parallel()
	var file string
	join(t, 2, func(o *loopback.Options) {
		if o.Rank == 0 {
			file = o.File
		}
	})
	_, err := os.Stat(file)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestAWorldOfOneNeedsNoMeetingPlace(t *testing.T) {
	t.Parallel()
	g, err := loopback.Join(context.Background(), loopback.Options{WorldSize: 1})
	require.NoError(t, err)
	require.NoError(t, g.Barrier(context.Background()))
	require.NoError(t, g.Close())
	assert.ErrorIs(t, g.Barrier(context.Background()), loopback.ErrClosed)
}
