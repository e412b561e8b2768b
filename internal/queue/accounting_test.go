package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// counter is an exporter that behaves in turns and keeps its own books.
type counter struct {
	turn func(ctx context.Context, call, n int) (lost int, err error)

	calls            int // it is called by one goroutine at a time
	exported, failed atomic.Uint64
	busy             atomic.Bool
}

func (c *counter) export(ctx context.Context, items []item) (err error) {
	if !c.busy.CompareAndSwap(false, true) {
		panic("called by two goroutines")
	}
	lost := len(items)
	defer func() {
		c.exported.Add(uint64(len(items) - lost))
		c.failed.Add(uint64(lost))
		c.busy.Store(false)
	}()
	c.calls++
	lost, err = c.turn(ctx, c.calls, len(items))
	return err
}

var turns = map[string]func(ctx context.Context, call, n int) (int, error){
	"takes all":   func(context.Context, int, int) (int, error) { return 0, nil },
	"refuses all": func(_ context.Context, _, n int) (int, error) { return n, errors.New("refused") },
	"partly":      func(_ context.Context, _, n int) (int, error) { return n / 3, lossError(n / 3) },
	"panics": func(_ context.Context, call, n int) (int, error) {
		if call%3 == 0 {
			panic(call)
		}
		return 0, nil
	},
	"outage": func(ctx context.Context, call, n int) (int, error) {
		if call > 2 && call < 6 {
			<-ctx.Done()
			return n, ctx.Err()
		}
		return 0, nil
	},
	"slow": func(context.Context, int, int) (int, error) {
		for range 100 { // leaves the cores to the producers, so that the queue fills
			runtime.Gosched()
		}
		return 0, nil
	},
}

// watch checks each snapshot against the last until the test calls the result.
func watch(t *testing.T, p *Queue[item], producers int) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var last Stats
		tick := time.NewTicker(20 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			s := p.Stats()
			if s.Given != s.Exported+s.Dropped+s.Failed+s.Queued {
				t.Errorf("does not add up: %+v", s)
				return
			}
			if s.Queued > uint64(p.cfg.QueueSize+p.cfg.BatchSize+producers) {
				t.Errorf("more queued than allowed: %+v", s)
				return
			}
			if s.Given < last.Given || s.Exported < last.Exported || s.Dropped < last.Dropped || s.Failed < last.Failed {
				t.Errorf("went back from %+v to %+v", last, s)
				return
			}
			last = s
		}
	})
	return func() { close(done); wg.Wait() }
}

func TestAccounting(t *testing.T) {
	t.Parallel()
	const producers, each = 8, 3000
	for name, turn := range turns {
		for _, cfg := range []Config{
			{QueueSize: 1000, BatchSize: 100, MaxWait: 10 * time.Microsecond},
			{QueueSize: 1000, BatchSize: 100, Block: true},
			{QueueSize: 7, BatchSize: 7, MaxWait: -1},
			{},
		} {
			t.Run(fmt.Sprintf("%s/queue=%d,block=%v", name, cfg.QueueSize, cfg.Block), func(t *testing.T) {
				t.Parallel()
				cfg.ExportTimeout = 5 * time.Millisecond
				if name == "takes all" {
					cfg.ExportTimeout = time.Minute
				}
				e := &counter{turn: turn}
				p := New(cfg, e.export)
				stop := watch(t, p, producers)
				var reported atomic.Uint64
				var wg, flushes sync.WaitGroup
				for range producers {
					wg.Go(func() {
						for range each {
							p.Put(one)
						}
					})
				}
				flushes.Go(func() {
					for range 20 {
						var loss *LossError
						if err := p.Flush(context.Background()); errors.As(err, &loss) {
							reported.Add(loss.Dropped + loss.Failed)
						}
					}
				})
				wg.Wait()
				flushes.Wait()
				var loss *LossError
				if errors.As(p.Flush(context.Background()), &loss) {
					reported.Add(loss.Dropped + loss.Failed)
				}
				err := p.Shutdown(context.Background())
				stop()

				s := p.Stats()
				lost := s.Dropped + s.Failed
				if s.Given != producers*each || s.Exported != e.exported.Load() || s.Failed != e.failed.Load() || s.Queued != 0 {
					t.Errorf("stats %+v, the exporter counted %d exported and %d failed", s, e.exported.Load(), e.failed.Load())
				}
				checkSum(t, s)
				if reported.Load() != lost {
					t.Errorf("%d lost, the flushes reported %d", lost, reported.Load())
				}
				if cfg.Block && s.Dropped != 0 {
					t.Errorf("%d dropped in blocking mode", s.Dropped)
				}
				if got := errors.As(err, &loss); got != (lost > 0) || got && (loss.Dropped != s.Dropped || loss.Failed != s.Failed || loss.Of != s.Given) {
					t.Errorf("error %v, stats %+v", err, s)
				}
			})
		}
	}
}

// Producers, flushes and several shutdowns with little time, all at once.
func TestAccountingDuringShutdown(t *testing.T) {
	t.Parallel()
	for name, turn := range turns {
		for _, block := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/block=%v", name, block), func(t *testing.T) {
				t.Parallel()
				e := &counter{turn: turn}
				p := New(Config{
					QueueSize: 100, BatchSize: 10, Block: block,
					ExportTimeout: 20 * time.Millisecond, OnLoss: func(*LossError) {},
				}, e.export)
				var wg sync.WaitGroup
				begun := make(chan struct{}, 8)
				for range 8 {
					wg.Go(func() {
						for i := range 2000 {
							p.Put(one)
							if i == 200 {
								begun <- struct{}{}
							}
							if i%500 == 0 {
								ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
								_ = p.Flush(ctx)
								cancel()
							}
						}
					})
				}
				<-begun
				for i := range 4 {
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i*10)*time.Millisecond)
						defer cancel()
						_ = p.Shutdown(ctx)
					})
				}
				wg.Wait()
				first, second := p.Shutdown(context.Background()), p.Shutdown(context.Background())
				if first != second {
					t.Errorf("first %v, then %v", first, second)
				}
				s := p.Stats()
				if checkSum(t, s); s.Given != 16_000 || s.Queued != 0 {
					t.Errorf("stats %+v", s)
				}
				// What was abandoned inside the exporter counts as failed, whatever it says later.
				if s.Exported > e.exported.Load() {
					t.Errorf("stats %+v, the exporter took %d", s, e.exported.Load())
				}
			})
		}
	}
}
