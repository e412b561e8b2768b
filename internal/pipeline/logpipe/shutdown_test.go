package logpipe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// An exporter that never comes back, whatever its context says, keeps nobody.
func TestHangingExporter(t *testing.T) {
	t.Parallel()
	for name, hanging := range map[string]func(release chan struct{}) *exporter{
		"in Export": func(release chan struct{}) *exporter {
			return &exporter{do: func(context.Context, []sdklog.Record) error { <-release; return nil }}
		},
		"in Shutdown": func(release chan struct{}) *exporter {
			return &exporter{doDown: func(context.Context) error { <-release; return nil }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			t.Cleanup(func() { close(release) }) // goleak
			exp := hanging(release)
			p := New(Settings{Exporter: exp, Endpoint: "grpc://there", Batch: queue.Config{BatchSize: 5}})
			emit(t.Context(), p, 12)
			until(t, "at the exporter", func() bool { return len(exp.calls()) > 0 })
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			err := p.Shutdown(ctx)
			if err == nil || !strings.Contains(err.Error(), "grpc://there") || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			checkSum(t, p.Stats())
			if exp.do != nil {
				var loss *outcome.LossError
				if !errors.As(err, &loss) || loss.Failed != 5 || loss.Dropped != 7 || loss.Of != 12 {
					t.Errorf("error %v", err)
				}
				wantStats(t, p, Stats{Stats: queue.Stats{Given: 12, Failed: 5, Dropped: 7}})
			}
		})
	}
}
