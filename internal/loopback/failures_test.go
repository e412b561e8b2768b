package loopback_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/internal/loopback"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// blamed asserts that err blames rank.
func blamed(t *testing.T, err error, rank int) {
	t.Helper()
	var r *loopback.RankError
	if assert.ErrorAs(t, err, &r) {
		assert.Equal(t, rank, r.Rank, "%v", err)
	}
}

func TestARankThatLeavesIsNamed(t *testing.T) {
	t.Parallel()
	for leaver := range 3 {
		groups := join(t, 3, nil)
		for rank, err := range onAll(groups, func(g *loopback.Group) error {
			if err := g.Barrier(soon(t)); err != nil {
				return err
			}
			if g.Rank() == leaver {
				return g.Close()
			}
			return g.Barrier(soon(t))
		}) {
			if rank == leaver {
				assert.NoError(t, err)
				continue
			}
			blamed(t, err, leaver)
			assert.ErrorContains(t, err, "it has left the group")
		}
		// The group stays broken, with the same error.
		for rank, err := range onAll(groups, func(g *loopback.Group) error { return g.Barrier(soon(t)) }) {
			if rank == leaver {
				assert.ErrorIs(t, err, loopback.ErrClosed)
			} else {
				blamed(t, err, leaver)
			}
		}
	}
}

func TestDifferentCallsAreFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		odd  func(context.Context, *loopback.Group) error
		want string
	}{
		{"other operation", func(ctx context.Context, g *loopback.Group) error {
			return g.AllReduce(ctx, loopback.Sum, []float64{1})
		}, "same order"},
		{"other reduction", func(ctx context.Context, g *loopback.Group) error {
			return g.AllReduce(ctx, loopback.Mean, []float64{1, 2})
		}, "same order"},
		{"other length", func(ctx context.Context, g *loopback.Group) error {
			return g.AllReduce(ctx, loopback.Sum, []float64{1})
		}, "8 bytes, want 2 values"},
		{"other root", func(ctx context.Context, g *loopback.Group) error { _, err := g.Broadcast(ctx, 1, nil); return err }, "broadcast 1 from rank 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			groups := join(t, 3, nil)
			for _, err := range onAll(groups, func(g *loopback.Group) error {
				if g.Rank() == 2 {
					return test.odd(soon(t), g)
				}
				switch test.name {
				case "other operation":
					return g.Barrier(soon(t))
				case "other root":
					_, err := g.Broadcast(soon(t), 0, nil)
					return err
				}
				return g.AllReduce(soon(t), loopback.Sum, []float64{1, 2})
			}) {
				blamed(t, err, 2)
				assert.ErrorContains(t, err, test.want)
			}
		})
	}
}

// A rank that is cancelled takes the others with it, and they learn why.
func TestCancelledRank(t *testing.T) {
	t.Parallel()
	for canceller := range 3 {
		groups := join(t, 3, nil)
		absent := (canceller + 1) % 3
		ctx, cancel := context.WithCancel(soon(t))
		errs := make(chan error, 1)
		go func() { errs <- groups[canceller].Barrier(ctx) }()
		bystander := make(chan error, 1)
		go func() { bystander <- groups[(canceller+2)%3].Barrier(soon(t)) }()
		cancel()
		err := <-errs
		blamed(t, err, canceller)
		assert.ErrorIs(t, err, context.Canceled)
		err = <-bystander
		blamed(t, err, canceller)
		assert.ErrorContains(t, err, "gave up barrier 1")
		// The absent rank finds out when it comes.
		err = groups[absent].Barrier(soon(t))
		blamed(t, err, canceller)
	}
}

// The deadline comes from the context, else from the options; the hub can say
// for whom it waited.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	groups := join(t, 3, func(o *loopback.Options) { o.Timeout = within })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	late := make(chan error, 1)
	go func() { late <- groups[1].Barrier(soon(t)) }()
	err := groups[0].Barrier(ctx)
	blamed(t, err, 0)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "rank 2")
	blamed(t, <-late, 0)

	groups = join(t, 2, func(o *loopback.Options) {
		if o.Rank == 1 {
			o.Timeout = 500 * time.Millisecond
		}
	})
	err = groups[1].Barrier(context.Background())
	blamed(t, err, 1)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	// What rank 1 sent before it gave up can still complete one operation here.
	if err = groups[0].Barrier(soon(t)); err == nil {
		err = groups[0].Barrier(soon(t))
	}
	blamed(t, err, 1)
}

func TestCloseEndsARunningOperation(t *testing.T) {
	t.Parallel()
	groups := join(t, 2, nil)
	for _, g := range []*loopback.Group{groups[1], groups[0]} {
		done := make(chan error, 1)
		go func() { done <- g.Barrier(soon(t)) }()
		require.NoError(t, g.Close())
		require.NoError(t, g.Close(), "again")
		assert.ErrorIs(t, <-done, loopback.ErrClosed)
	}
}

func TestMissingRanksAreNamed(t *testing.T) {
	t.Parallel()
	file := meetingFile(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	other := make(chan error, 1)
	go func() {
		_, err := loopback.Join(soon(t), loopback.Options{Rank: 2, WorldSize: 4, File: file})
		other <- err
	}()
	_, err := loopback.Join(ctx, loopback.Options{Rank: 0, WorldSize: 4, File: file})
	assert.ErrorContains(t, err, "did not join")
	assert.ErrorContains(t, err, "ranks 1, ")
	assert.ErrorContains(t, err, "3)")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	select {
	case err := <-other:
		blamed(t, err, 0)
	case <-time.After(within):
		t.Fatal("rank 2 goes on waiting for a job that has ended")
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	for _, o := range []loopback.Options{
		{Rank: 1, WorldSize: 2, Addr: otlptest.ClosedAddr(t)},
		{Rank: 1, WorldSize: 2, File: meetingFile(t)},
	} {
		o.Timeout = 100 * time.Millisecond
		_, err := loopback.Join(t.Context(), o)
		blamed(t, err, 0)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "rank 1 could not join it in")
	}
}

func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	addr := otlptest.ClosedAddr(t)
	options := func(rank int) loopback.Options {
		return loopback.Options{Rank: rank, WorldSize: 3, Addr: addr, Key: "secret", Timeout: within}
	}
	hubCtx, endHub := context.WithCancel(t.Context())
	hub := make(chan error, 1)
	go func() {
		g, err := loopback.Join(hubCtx, options(0))
		if err == nil {
			err = errors.New("joined")
			_ = g.Close()
		}
		hub <- err
	}()
	for _, test := range []struct {
		edit func(*loopback.Options)
		want string
	}{
		{func(o *loopback.Options) { o.Key = "other" }, "the key is not that of this job"},
		{func(o *loopback.Options) { o.WorldSize = 4 }, "world size of 4, rank 0 has 3"},
	} {
		o := options(1)
		test.edit(&o)
		_, err := loopback.Join(soon(t), o)
		blamed(t, err, 0)
		assert.ErrorContains(t, err, test.want)
		assert.NotContains(t, err.Error(), "secret")
	}
	// Of two processes with one rank, the second is turned away while the job
	// still waits for another.
	twins := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := loopback.Join(soon(t), options(1))
			twins <- err
		}()
	}
	assert.ErrorContains(t, <-twins, "rank 1 has joined already")
	endHub()
	assert.ErrorContains(t, <-twins, "did not join (rank 2)")
	err := <-hub
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "turned away:")
	assert.ErrorContains(t, err, "world size of 4")
}

// Strangers, silent or loud, hold nobody up.
func TestStrangersAreTurnedAway(t *testing.T) {
	t.Parallel()
	addr := otlptest.ClosedAddr(t)
	hub := make(chan *loopback.Group, 1)
	go func() {
		g, err := loopback.Join(soon(t), loopback.Options{Rank: 0, WorldSize: 2, Addr: addr})
		assert.NoError(t, err)
		hub <- g
	}()
	dial := func() net.Conn {
		var conn net.Conn
		require.Eventually(t, func() bool {
			var err error
			conn, err = net.Dial("tcp", addr)
			return err == nil
		}, within, time.Millisecond)
		return conn
	}
	silent := dial()
	defer func() { _ = silent.Close() }()
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "", "lb\x01\x01\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff", "lb\x01\x06aaaabbbb\x00\x00\x00\x00"} {
		loud := dial()
		_, err := loud.Write([]byte(text))
		require.NoError(t, err)
		if text == "" {
			require.NoError(t, loud.Close())
			continue
		}
		answer := make([]byte, 4096)
		require.NoError(t, loud.SetReadDeadline(time.Now().Add(within)))
		n, err := loud.Read(answer)
		require.NoError(t, err, "%q", text)
		assert.Contains(t, string(answer[:n]), "refused")
		require.NoError(t, loud.Close())
	}
	g, err := loopback.Join(soon(t), loopback.Options{Rank: 1, WorldSize: 2, Addr: addr})
	require.NoError(t, err)
	for _, err := range onAll([]*loopback.Group{<-hub, g}, func(g *loopback.Group) error {
		defer func() { _ = g.Close() }()
		return g.Barrier(soon(t))
	}) {
		assert.NoError(t, err)
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		o    loopback.Options
		want string
	}{
		{loopback.Options{}, "rank 0 of 0"},
		{loopback.Options{Rank: 2, WorldSize: 2, File: "x"}, "rank 2 of 2"},
		{loopback.Options{Rank: -1, WorldSize: 2, File: "x"}, "rank -1 of 2"},
		{loopback.Options{WorldSize: 2}, "want one of them"},
		{loopback.Options{WorldSize: 2, File: "x", Addr: "127.0.0.1:1"}, "want one of them"},
		{loopback.Options{WorldSize: 2, Addr: "localhost"}, "want host:port"},
		{loopback.Options{WorldSize: 2, File: "x", Timeout: -1}, "timeout"},
		{loopback.Options{WorldSize: 2, File: "x", MaxPayload: -1}, "largest payload -1"},
	} {
		_, err := loopback.Join(t.Context(), test.o)
		assert.ErrorContains(t, err, test.want)
	}
}

func TestRendezvousFileOfAnotherJob(t *testing.T) {
	t.Parallel()
	file := meetingFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := loopback.Join(ctx, loopback.Options{Rank: 0, WorldSize: 2, File: file})
		first <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, within, time.Millisecond)
	_, err := loopback.Join(soon(t), loopback.Options{Rank: 0, WorldSize: 3, File: file})
	assert.ErrorIs(t, err, fs.ErrExist)
	assert.ErrorContains(t, err, "give every job a path of its own")
	cancel()
	require.Error(t, <-first)
}
