package queue

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	std := Config{QueueSize: 16384, BatchSize: 512, Delay: 5 * time.Second, ExportTimeout: 30 * time.Second, MaxWait: time.Millisecond}
	for name, c := range map[string]struct{ in, want Config }{
		"zero":     {Config{}, std},
		"negative": {Config{QueueSize: -1, BatchSize: -1, Delay: -1, ExportTimeout: -1}, std},
		"smallest": {
			Config{QueueSize: 1, BatchSize: 1, Delay: 1, ExportTimeout: 1, MaxWait: 1},
			Config{QueueSize: 1, BatchSize: 1, Delay: time.Millisecond, ExportTimeout: time.Millisecond, MaxWait: 1},
		},
		"batch over queue": {
			Config{QueueSize: 100},
			Config{QueueSize: 100, BatchSize: 100, Delay: std.Delay, ExportTimeout: std.ExportTimeout, MaxWait: std.MaxWait},
		},
		"largest": {
			Config{QueueSize: math.MaxInt, BatchSize: math.MaxInt, Delay: math.MaxInt64, ExportTimeout: math.MaxInt64, MaxWait: math.MaxInt64, Block: true},
			Config{QueueSize: 1 << 20, BatchSize: 1 << 16, Delay: math.MaxInt64, ExportTimeout: math.MaxInt64, MaxWait: math.MaxInt64, Block: true},
		},
	} {
		got := c.in.normal()
		if got.QueueSize != c.want.QueueSize || got.BatchSize != c.want.BatchSize || got.Delay != c.want.Delay ||
			got.ExportTimeout != c.want.ExportTimeout || got.MaxWait != c.want.MaxWait {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		// It works with it.
		e := &exporter{}
		p := start(e, c.in)
		p.Put(one)
		if err := p.Shutdown(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantStats(t, p, Stats{Given: 1, Exported: 1})
	}
}

func TestBatching(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{}
		p := start(e, Config{QueueSize: 100, BatchSize: 10, Delay: time.Minute})
		put(p, 9)
		synctest.Wait()
		if c := e.calls(); len(c) != 0 {
			t.Errorf("exported %v before the delay", c)
		}
		advance(time.Minute - time.Nanosecond)
		if c := e.calls(); len(c) != 0 {
			t.Errorf("exported %v before the delay", c)
		}
		advance(time.Nanosecond)
		synctest.Wait()
		if c := e.calls(); !slices.Equal(c, []int{9}) {
			t.Errorf("exported %v after the delay, want [9]", c)
		}
		// Full batches do not wait, and the rest waits for more.
		put(p, 25)
		synctest.Wait()
		if c := e.calls(); !slices.Equal(c, []int{9, 10, 10}) {
			t.Errorf("exported %v, want the full batches", c)
		}
		wantStats(t, p, Stats{Given: 34, Exported: 29, Queued: 5})
		put(p, 5)
		synctest.Wait()
		if c := e.calls(); !slices.Equal(c, []int{9, 10, 10, 10}) {
			t.Errorf("exported %v, want one more full batch", c)
		}
		if err := p.Shutdown(t.Context()); err != nil || e.shutdowns() != 1 {
			t.Errorf("error %v, %d shutdowns of the exporter", err, e.shutdowns())
		}
		wantStats(t, p, Stats{Given: 39, Exported: 39})
	})
}

// Half a queue wakes the exporter when a batch is as large as the queue.
func TestWakesEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{}
		p := start(e, Config{QueueSize: 10, BatchSize: 10, Delay: time.Hour})
		for range 10 {
			put(p, 5)
			synctest.Wait()
		}
		wantStats(t, p, Stats{Given: 50, Exported: 50})
		_ = p.Shutdown(t.Context())
	})
}

func TestIdle(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{-1, 0, 1, time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p := start(&exporter{}, Config{Delay: delay})
			synctest.Wait()
			if p.delay.Stop() {
				t.Errorf("delay %v: a timer runs with nothing queued", delay)
			}
			p.Put(one)
			advance(time.Hour)
			wantStats(t, p, Stats{Given: 1, Exported: 1})
			if p.delay.Stop() {
				t.Errorf("delay %v: a timer runs after the export", delay)
			}
			_ = p.Shutdown(t.Context())
		})
	}
}

// hold is an exporter that keeps each batch until told to go on.
func hold() (*exporter, chan error) {
	next := make(chan error)
	return &exporter{do: func(context.Context, int) error { return <-next }}, next
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, next := hold()
		p := start(e, Config{QueueSize: 10, BatchSize: 5})
		put(p, 5)
		synctest.Wait() // the exporter has these
		put(p, 10)
		began := time.Now()
		var wg sync.WaitGroup
		for range 8 { // all wait together
			wg.Go(func() {
				p.Put(one)
				if d := time.Since(began); d != time.Millisecond {
					t.Errorf("waited for %v, want 1ms", d)
				}
			})
		}
		synctest.Wait()
		wantStats(t, p, Stats{Given: 23, Queued: 23})
		wg.Wait()
		wantStats(t, p, Stats{Given: 23, Queued: 15, Dropped: 8})
		put(p, 1000) // the time is spent
		if d := time.Since(began); d != time.Millisecond {
			t.Errorf("more waiting: %v in all, want 1ms", d)
		}
		wantStats(t, p, Stats{Given: 1023, Queued: 15, Dropped: 1008})

		next <- nil // and given anew
		synctest.Wait()
		put(p, 5)
		began = time.Now()
		go func() {
			advance(time.Millisecond / 2)
			next <- nil
		}()
		put(p, 1)
		if d := time.Since(began); d != time.Millisecond/2 {
			t.Errorf("waited for %v, want the half millisecond until there was room", d)
		}
		wantStats(t, p, Stats{Given: 1029, Queued: 11, Dropped: 1008, Exported: 10})
		close(next)
		synctest.Wait()
		err := p.Shutdown(t.Context())
		if want := "lens: 1008 of 1029 spans lost: dropped because the queue was full"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %v", err, want)
		}
		wantStats(t, p, Stats{Given: 1029, Dropped: 1008, Exported: 21})
	})
}

func TestNoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, next := hold()
		p := start(e, Config{QueueSize: 1, MaxWait: -1})
		began := time.Now()
		put(p, 1)
		synctest.Wait()
		put(p, 5)
		if time.Since(began) != 0 {
			t.Errorf("waited for %v", time.Since(began))
		}
		wantStats(t, p, Stats{Given: 6, Queued: 2, Dropped: 4})
		close(next)
		_ = p.Shutdown(t.Context())
	})
}

// With a dead collector all the waiting is MaxWait for each batch that it refuses.
func TestDeadCollectorCostsNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{do: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		p := start(e, Config{QueueSize: 100, BatchSize: 10, ExportTimeout: 10 * time.Second})
		var waited time.Duration
		for range 60_000 { // a minute of 1000 spans a second
			began := time.Now()
			p.Put(one)
			waited += time.Since(began)
			advance(time.Millisecond)
		}
		if limit := time.Duration(len(e.calls())) * time.Millisecond; waited > limit || len(e.calls()) > 8 {
			t.Errorf("waited for %v in %d calls, want at most 1ms each", waited, len(e.calls()))
		}
		s := p.Stats()
		if checkSum(t, s); s.Given != 60_000 || s.Queued > 110 {
			t.Errorf("stats %+v", s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = p.Shutdown(ctx)
		advance(linger)
	})
}

func TestBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, next := hold()
		p := start(e, Config{QueueSize: 10, BatchSize: 5, Block: true})
		began := time.Now()
		go func() {
			for range 8 {
				advance(time.Hour)
				next <- nil
			}
		}()
		put(p, 40) // 5 with the exporter, 10 queued, 25 after 5 batches
		if d := time.Since(began); d != 5*time.Hour {
			t.Errorf("took %v, want 5h", d)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, p, Stats{Given: 40, Exported: 40})
	})
}

// Shutdown lets producers go that wait for room.
func TestBlockEndsAtShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, next := hold()
		p := start(e, Config{QueueSize: 5, BatchSize: 5, Block: true})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { p.Put(one) })
		}
		synctest.Wait()
		wantStats(t, p, Stats{Given: 20, Queued: 20})
		shut := make(chan error)
		go func() { shut <- p.Shutdown(t.Context()) }()
		wg.Wait()
		s := p.Stats()
		if s.Dropped == 0 || s.Dropped > 15 || s.Given != 20 {
			t.Errorf("stats %+v", s)
		}
		close(next)
		if err := <-shut; err == nil {
			t.Error("no error although spans were dropped")
		}
		checkSum(t, p.Stats())
	})
}

// A queue that was long keeps no more empty chunks than it says.
func TestQueueMemory(t *testing.T) {
	t.Parallel()
	var q Queue[item]
	q.init(1<<20, 1024)
	for range 1 << 20 {
		q.add(one)
	}
	for q.waiting > 0 {
		c := q.pop()
		clear(c.items)
		c.items = c.items[:0]
		q.recycle(c)
	}
	n := 0
	for c := q.free; c != nil; c = c.next {
		n++
	}
	if n != q.spare || n*1024*itemBytes[item]() > keepBytes || n < 2 {
		t.Errorf("%d chunks kept, counted %d", n, q.spare)
	}
	if q.accepted() != 1<<20 || q.taken != 1<<20 {
		t.Errorf("accepted %d, taken %d", q.accepted(), q.taken)
	}
}

func TestNoAllocations(t *testing.T) {
	for _, block := range []bool{false, true} {
		p := New(Config{Block: block}, discard)
		put(p, 20_000)
		_ = p.Flush(t.Context())
		if n := testing.AllocsPerRun(10_000, func() { p.Put(one) }); n != 0 {
			t.Errorf("block=%v: %v allocations", block, n)
		}
		_ = p.Shutdown(t.Context())
		if n := testing.AllocsPerRun(1000, func() { p.Put(one) }); n != 0 {
			t.Errorf("block=%v: %v allocations after shutdown", block, n)
		}
	}
}

func discard(context.Context, []item) error { return nil }
