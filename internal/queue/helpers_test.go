package queue

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is what the tests queue.
type item = *int

var one item = new(int)

// start is New with the exporter's both methods.
func start(e *exporter, cfg Config) *Queue[item] {
	cfg.What, cfg.Close = "spans", e.Shutdown
	return New(cfg, e.Export)
}

// exporter records the calls and does in them what the test wants.
type exporter struct {
	do     func(ctx context.Context, n int) error // nil: takes everything
	doDown func(ctx context.Context) error

	mu      sync.Mutex
	batches []int
	downs   int
}

func (e *exporter) Export(ctx context.Context, items []item) error {
	e.mu.Lock()
	e.batches = append(e.batches, len(items))
	e.mu.Unlock()
	for _, s := range items {
		if s == nil {
			panic("nil item in a batch")
		}
	}
	if e.do != nil {
		return e.do(ctx, len(items))
	}
	return nil
}

func (e *exporter) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	e.downs++
	e.mu.Unlock()
	if e.doDown != nil {
		return e.doDown(ctx)
	}
	return nil
}

func (e *exporter) calls() []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]int{}, e.batches...)
}

func (e *exporter) shutdowns() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.downs
}

func put(p *Queue[item], n int) {
	for range n {
		p.Put(one)
	}
}

func wantStats(t *testing.T, p *Queue[item], want Stats) {
	t.Helper()
	if got := p.Stats(); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func checkSum(t *testing.T, s Stats) {
	t.Helper()
	if s.Given != s.Exported+s.Dropped+s.Failed+s.Queued {
		t.Errorf("does not add up: %+v", s)
	}
}

// LossError is short for what every test asks for.
type LossError = outcome.LossError

// lossError is an exporter's exact word on its loss.
type lossError int

func (lossError) Error() string    { return "partly refused" }
func (e lossError) LostSpans() int { return int(e) }

// advance lets time pass in a synctest bubble, where its clock jumps as soon as
// everything waits: for a test, or an exporter that takes so long. No test waits
// in real time, and none depends on it.
func advance(d time.Duration) { time.Sleep(d) }
