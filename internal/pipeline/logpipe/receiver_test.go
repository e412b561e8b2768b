package logpipe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/settings"
)

// dial returns the library's exporter for a receiver at addr, and its description.
func dial(tb testing.TB, protocol, addr string) (sdklog.Exporter, string) {
	tb.Helper()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + addr, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
	o, warnings, err := settings.ParseOTLP(settings.Logs, nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil || len(warnings) > 0 {
		tb.Fatal(err, warnings)
	}
	exp, err := otlp.NewLogExporter(context.Background(), o, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return exp, otlp.Describe(o)
}

func addresses(srv *otlptest.Server) map[string]string {
	return map[string]string{"grpc": srv.GRPCAddr(), "http/protobuf": srv.HTTPAddr()}
}

// What the books say is exported is what a receiver took, also when it rejects a part,
// goes away in between and comes back.
func TestReceiverAgrees(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			srv := otlptest.Start(t)
			exp, where := dial(t, protocol, addresses(srv)[protocol])
			p := New(Settings{Exporter: exp, Endpoint: where, Resource: resource.NewSchemaless(attribute.String("service.name", "svc")),
				Batch: queue.Config{QueueSize: 1000, BatchSize: 100, Block: true, ExportTimeout: 5 * time.Second}})
			inParallel(4, 500, func() { emit(context.Background(), p, 1) })
			if err := p.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
			if logs := srv.Logs(); len(logs) != 2000 || logs[0].Resource["service.name"] != "svc" || logs[0].Scope.Name != "test" {
				t.Errorf("%d records, the first %+v", len(logs), logs[0])
			}
			srv.SetFault(otlptest.PartialSuccess(3, "odd").Times(1))
			emit(t.Context(), p, 10)
			var loss *outcome.LossError
			if err := p.ForceFlush(t.Context()); !errors.As(err, &loss) || loss.Failed != 3 || loss.Of != 10 {
				t.Errorf("partial success: %v", err)
			}
			srv.Stop()
			emit(t.Context(), p, 20)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if err := p.ForceFlush(ctx); err == nil || !strings.Contains(err.Error(), where) {
				t.Errorf("without a receiver: %v", err)
			}
			cancel()
			srv.Restart(t)
			emit(t.Context(), p, 5)
			_ = p.Shutdown(t.Context())
			s := p.Stats()
			if got := srv.Count(otlptest.Logs); uint64(got) != s.Exported || s.Given != 2035 || s.Queued != 0 {
				t.Errorf("the receiver has %d, stats %+v", got, s)
			}
			checkSum(t, s)
		})
	}
}

// A batch over the receiver's limit arrives in parts.
func TestLargeBatchArrives(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			srv := otlptest.Start(t, otlptest.WithMaxRequestBytes(64<<10))
			exp, where := dial(t, protocol, addresses(srv)[protocol])
			p := New(Settings{Exporter: exp, Endpoint: where})
			l := p.Provider.Logger("test")
			for i := range 40 {
				var r log.Record
				r.SetBody(attribute.StringValue(strings.Repeat("x", 10<<10)))
				if i == 7 {
					r.SetBody(attribute.StringValue(strings.Repeat("x", 100<<10)))
				}
				l.Emit(t.Context(), r)
			}
			err := p.Shutdown(t.Context())
			var loss *outcome.LossError
			if n := srv.Count(otlptest.Logs); n != 39 || !errors.As(err, &loss) || loss.Failed != 1 || loss.Of != 40 {
				t.Errorf("%d records, error %v", n, err)
			}
		})
	}
}

// A collector that is away, silent or refuses: Shutdown returns in time with the number,
// and TestMain finds no goroutine left.
func TestShutdownWithoutCollector(t *testing.T) {
	t.Parallel()
	refusing := otlptest.Start(t)
	refusing.SetFault(otlptest.Reject(codes.Unauthenticated, 401))
	for name, at := range map[string]map[string]string{
		"closed":   {"grpc": otlptest.ClosedAddr(t), "http/protobuf": otlptest.ClosedAddr(t)},
		"silent":   {"grpc": otlptest.SilentAddr(t), "http/protobuf": otlptest.SilentAddr(t)},
		"refusing": addresses(refusing),
	} {
		for protocol, addr := range at {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				exp, where := dial(t, protocol, addr)
				p := New(Settings{Exporter: exp, Endpoint: where})
				emit(t.Context(), p, 1000)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				err := p.Shutdown(ctx)
				if d := time.Since(began); d > 9*time.Second { // of 10 to 30 s that an export takes
					t.Errorf("returned after %v", d)
				}
				var loss *outcome.LossError
				if !errors.As(err, &loss) || loss.Dropped+loss.Failed != 1000 || loss.Of != 1000 || !strings.Contains(err.Error(), where) {
					t.Errorf("error %v", err)
				}
				if s := p.Stats(); s.Dropped+s.Failed != 1000 || s.Given != 1000 {
					t.Errorf("stats %+v", s)
				}
			})
		}
	}
}
