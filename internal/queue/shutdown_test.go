package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Every caller waits for the same work, is told the same, and the exporter is shut
// down once, after the last batch.
func TestShutdownIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{}
		e.do = func(_ context.Context, n int) error {
			advance(500 * time.Millisecond)
			if e.shutdowns() != 0 {
				t.Error("the exporter was shut down before the last batch")
			}
			if n == 5 {
				return errors.New("refused")
			}
			return nil
		}
		p := start(e, Config{BatchSize: 10})
		put(p, 25)
		began := time.Now()
		var wg sync.WaitGroup
		results := make([]error, 20)
		for i := range results {
			wg.Go(func() {
				advance(time.Duration(i) * 50 * time.Millisecond)
				results[i] = p.Shutdown(context.Background())
				if d := time.Since(began); d != 1500*time.Millisecond {
					t.Errorf("caller %d returned after %v", i, d)
				}
			})
		}
		wg.Wait()
		for i, err := range append(results, p.Shutdown(within(t, 0))) {
			if err == nil || err != results[0] {
				t.Errorf("caller %d: %v, the first: %v", i, err, results[0])
			}
		}
		wantStats(t, p, Stats{Given: 25, Exported: 20, Failed: 5})
		if e.shutdowns() != 1 {
			t.Errorf("the exporter was shut down %d times", e.shutdowns())
		}
		put(p, 3)
		wantStats(t, p, Stats{Given: 28, Exported: 20, Failed: 5, Dropped: 3})
	})
}

func TestShutdownOfNothing(t *testing.T) {
	t.Parallel()
	p := start(&exporter{}, Config{})
	for range 2 {
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wantStats(t, p, Stats{})
}

// A caller with more time takes the work over from one whose time is up: while it
// waits, and just after.
func TestShutdownTakenOver(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e := &exporter{do: func(context.Context, int) error { advance(500 * time.Millisecond); return nil }}
			p := start(e, Config{BatchSize: 10})
			put(p, 15)
			second := make(chan error, 1)
			takeOver := func() { second <- p.Shutdown(within(t, 2*time.Second)) }
			if before {
				go func() {
					advance(20 * time.Millisecond)
					takeOver()
				}()
			}
			began := time.Now()
			err := p.Shutdown(within(t, 50*time.Millisecond))
			var loss *LossError
			if !errors.As(err, &loss) || loss.Dropped != 5 || loss.Failed != 10 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first: %v", err)
			}
			if d := time.Since(began); d != 50*time.Millisecond {
				t.Errorf("the first returned after %v", d)
			}
			if before {
				wantStats(t, p, Stats{Given: 15, Queued: 15})
			} else {
				wantStats(t, p, Stats{Given: 15, Dropped: 5, Failed: 10})
				takeOver()
			}
			if err := <-second; err != nil {
				t.Errorf("the second: %v", err)
			}
			if d := time.Since(began); d != time.Second {
				t.Errorf("the second returned after %v, want two batches", d)
			}
			wantStats(t, p, Stats{Given: 15, Exported: 15})
			if err := p.Shutdown(t.Context()); err != nil {
				t.Errorf("the third: %v", err)
			}
		})
	}
}

// When nobody takes over, the verdict that the caller got becomes final and the
// exporter is told to stop.
func TestShutdownOutOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{do: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}
		p := start(e, Config{BatchSize: 10, ExportTimeout: time.Hour})
		put(p, 2048)
		synctest.Wait()
		began := time.Now()
		err := p.Shutdown(within(t, time.Second))
		if d := time.Since(began); d != time.Second {
			t.Errorf("returned after %v", d)
		}
		want := "lens: 2048 of 2048 spans lost: 2038 dropped because they still waited when the time was up, 10 not exported (context deadline exceeded)"
		if err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
		wantStats(t, p, Stats{Given: 2048, Dropped: 2038, Failed: 10})
		advance(linger)
		synctest.Wait()
		wantStats(t, p, Stats{Given: 2048, Dropped: 2038, Failed: 10})
		if e.shutdowns() != 1 {
			t.Errorf("the exporter was shut down %d times", e.shutdowns())
		}
		if err := p.Shutdown(t.Context()); err == nil || err.Error() != want {
			t.Errorf("later: error %v", err)
		}
	})
}

func TestShutdownWithoutTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, next := hold()
		p := start(e, Config{BatchSize: 10})
		put(p, 5)
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Shutdown(dead); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		close(next) // it is delivered all the same if that takes no time
		synctest.Wait()
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, p, Stats{Given: 5, Exported: 5})
	})
}

// An exporter that does not listen to its context is left alone, and what it says
// in the end changes nothing.
func TestShutdownWithStuckExporter(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]error{"success": nil, "failure": errors.New("late")} {
		synctest.Test(t, func(t *testing.T) {
			e, next := hold()
			p := start(e, Config{BatchSize: 10})
			put(p, 25)
			synctest.Wait()
			if err := p.Shutdown(within(t, time.Second)); err == nil {
				t.Error("no error")
			}
			advance(time.Minute)
			want := Stats{Given: 25, Dropped: 15, Failed: 10}
			wantStats(t, p, want)
			next <- late
			synctest.Wait()
			wantStats(t, p, want)
			if e.shutdowns() != 1 || len(e.calls()) != 1 {
				t.Errorf("%s: %d shutdowns, %d batches, want 1 of each", name, e.shutdowns(), len(e.calls()))
			}
		})
	}
}

func TestExporterShutdownOutOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{doDown: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		p := start(e, Config{})
		put(p, 5)
		err := p.Shutdown(within(t, time.Second))
		if err == nil || !strings.Contains(err.Error(), "did not shut down in time") {
			t.Errorf("error %v", err)
		}
		advance(time.Second)
		if again := p.Shutdown(t.Context()); again == nil || again.Error() != err.Error() {
			t.Errorf("then error %v, first %v", again, err)
		}
		wantStats(t, p, Stats{Given: 5, Exported: 5})
	})
}
