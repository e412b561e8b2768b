package metricpipe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/settings"
)

// dial returns the library's exporter for a receiver at addr, and its description.
func dial(tb testing.TB, protocol, addr string, t settings.Temporality) (sdkmetric.Exporter, string) {
	tb.Helper()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + addr, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
	o, warnings, err := settings.ParseOTLP(settings.Metrics, nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil || len(warnings) > 0 {
		tb.Fatal(err, warnings)
	}
	exp, err := otlp.NewMetricExporter(context.Background(), o, t.Selector(), nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return exp, otlp.Describe(o)
}

func addresses(srv *otlptest.Server) map[string]string {
	return map[string]string{"grpc": srv.GRPCAddr(), "http/protobuf": srv.HTTPAddr()}
}

// What the books say is exported is what a receiver took.
func TestReceiverAgrees(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for _, temporality := range []settings.Temporality{settings.Delta, settings.Cumulative} {
			t.Run(protocol+"/"+string(temporality), func(t *testing.T) {
				t.Parallel()
				srv := otlptest.Start(t)
				exp, where := dial(t, protocol, addresses(srv)[protocol], temporality)
				p := New(Settings{Exporter: exp, Endpoint: where, Interval: time.Hour,
					Resource: resource.NewSchemaless(attribute.String("service.name", "svc"))})
				add, add2 := counter(t, p, "a"), counter(t, p, "b")
				add(1)
				add2(2)
				if err := p.ForceFlush(t.Context()); err != nil {
					t.Error(err)
				}
				got := srv.Metrics()
				if len(got) != 2 || got[0].Resource["service.name"] != "svc" || got[0].Scope.Name != "test" || got[0].Delta != (temporality == settings.Delta) {
					t.Errorf("received %+v", got)
				}
				srv.SetFault(otlptest.PartialSuccess(1, "odd").Times(1))
				add(1)
				add2(1)
				var loss *outcome.LossError
				if err := p.ForceFlush(t.Context()); !errors.As(err, &loss) || loss.Failed != 1 || loss.Of != 2 {
					t.Errorf("partial success: %v", err)
				}
				srv.SetFault(otlptest.Reject(codes.InvalidArgument, 400).Times(1))
				add(1)
				add2(1)
				if err := p.ForceFlush(t.Context()); !errors.As(err, &loss) || loss.Failed != 2 || loss.Of != 2 || !strings.Contains(err.Error(), where) {
					t.Errorf("rejected: %v", err)
				}
				add(1)
				add2(1)
				if err := p.Shutdown(t.Context()); !errors.As(err, &loss) || loss.Failed != 3 || loss.Of != 8 {
					t.Errorf("shutdown: %v", err)
				}
				s := numbersOf(p.Stats())
				if s != (Stats{Exports: 4, Failed: 2, Points: 5, LostPoints: 3}) || srv.Count(otlptest.Metrics) != 5 {
					t.Errorf("the receiver has %d, stats %+v", srv.Count(otlptest.Metrics), s)
				}
			})
		}
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
				exp, where := dial(t, protocol, addr, settings.Cumulative)
				p := New(Settings{Exporter: exp, Endpoint: where, Interval: time.Hour})
				for _, name := range []string{"a", "b", "c"} {
					counter(t, p, name)(1)
				}
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				err := p.Shutdown(ctx)
				if d := time.Since(began); d > 9*time.Second { // of 10 s that an export takes
					t.Errorf("returned after %v", d)
				}
				var loss *outcome.LossError
				if !errors.As(err, &loss) || loss.Failed != 3 || loss.Of != 3 || !strings.Contains(err.Error(), where) {
					t.Errorf("error %v", err)
				}
				if s := p.Stats(); s.LostPoints != 3 {
					t.Errorf("stats %+v", s)
				}
			})
		}
	}
}
