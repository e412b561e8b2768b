package logpipe

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is more than any machine needs.
const patience = 30 * time.Second

// exporter records the calls and does in them what the test wants.
type exporter struct {
	do     func(ctx context.Context, records []sdklog.Record) error // nil: takes everything
	doDown func(ctx context.Context) error

	mu      sync.Mutex
	batches []int
	taken   []sdklog.Record
	downs   int
}

func (e *exporter) Export(ctx context.Context, records []sdklog.Record) error {
	e.mu.Lock()
	e.batches = append(e.batches, len(records))
	e.mu.Unlock()
	if e.do != nil {
		if err := e.do(ctx, records); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range records {
		e.taken = append(e.taken, records[i].Clone())
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

func (*exporter) ForceFlush(context.Context) error { return nil }

func (e *exporter) calls() []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.batches)
}

func (e *exporter) shutdowns() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.downs
}

func (e *exporter) records() []sdklog.Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.taken)
}

// emit emits n records.
func emit(ctx context.Context, p *Pipeline, n int) {
	l := p.Provider.Logger("test")
	for i := range n {
		var r log.Record
		r.SetBody(attribute.StringValue(fmt.Sprintf("record %d", i)))
		l.Emit(ctx, r)
	}
}

func inParallel(goroutines, each int, f func()) {
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				f()
			}
		})
	}
	wg.Wait()
}

func wantStats(t *testing.T, p *Pipeline, want Stats) {
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

// until waits for cond.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, patience, time.Millisecond, what)
}

// lines is where the library's own log goes.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) log() *report.Log { return report.New(slog.New(slog.NewTextHandler(l, nil))) }

// partial is an exporter's exact word on its loss.
type partial int

func (partial) Error() string    { return "partly refused" }
func (e partial) LostSpans() int { return int(e) }

// sized refuses what is longer than the limit.
type sized struct{}

func (sized) Error() string  { return "too many" }
func (sized) TooLarge() bool { return true }
