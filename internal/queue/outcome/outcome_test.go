package outcome

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/internal/otlptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keeping is a processor that gives its record away.
type keeping struct{ record *sdklog.Record }

func (keeping) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (k keeping) OnEmit(_ context.Context, r *sdklog.Record) error     { *k.record = r.Clone(); return nil }
func (keeping) Shutdown(context.Context) error                         { return nil }
func (keeping) ForceFlush(context.Context) error                       { return nil }

// The SDK's own exporters say what was rejected in types that nobody can name.
func TestPartialSuccessOfTheSDK(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	srv.SetFault(otlptest.PartialSuccess(2, "odd"))
	logs, err := otlploggrpc.New(t.Context(), otlploggrpc.WithEndpoint(srv.GRPCAddr()), otlploggrpc.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = logs.Shutdown(context.Background()) }()
	var r sdklog.Record
	sdklog.NewLoggerProvider(sdklog.WithProcessor(keeping{&r})).Logger("test").Emit(t.Context(), log.Record{})
	if got := Lost(logs.Export(t.Context(), []sdklog.Record{r, r, r}), 3); got != 2 {
		t.Errorf("log records: %d", got)
	}
	metrics, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(srv.HTTPAddr()), otlpmetrichttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = metrics.Shutdown(context.Background()) }()
	points := make([]metricdata.DataPoint[int64], 5)
	for i := range points {
		points[i].Attributes = attribute.NewSet(attribute.Int("n", i))
	}
	err = metrics.Export(t.Context(), &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{
		Metrics: []metricdata.Metrics{{Name: "g", Data: metricdata.Gauge[int64]{DataPoints: points}}}}}})
	if got := Lost(err, 5); got != 2 {
		t.Errorf("data points: %d of %v", got, err)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	plain := errors.New("plain, password=secret")
	for want, f := range map[string]func() error{
		"plain, password=secret":                                                 func() error { return plain },
		"lens: it panicked: plain, password=secret":                              func() error { panic(plain) },
		"lens: it panicked: text, password=[REDACTED]":                           func() error { panic("text, password=secret") },
		"lens: it called runtime.Goexit":                                         func() error { runtime.Goexit(); return nil },
		"lens: it panicked: runtime error: index out of range [3] with length 0": func() error { _ = make([]int, len(plain.Error())-22)[3]; return nil },
	} {
		if err, returned := Call(t.Context(), "it", f); err == nil || err.Error() != want || !returned {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if err, returned := Call(t.Context(), "it", func() error { return nil }); err != nil || !returned {
		t.Errorf("error %v, returned %v", err, returned)
	}
	release := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err, returned := Call(ctx, "it", func() error { <-release; return nil }); !errors.Is(err, context.Canceled) || returned {
		t.Errorf("error %v, returned %v", err, returned)
	}
	close(release)
}

func TestText(t *testing.T) {
	t.Parallel()
	a, b := errors.New("lens: a, token=x"), errors.New("b")
	if got := Text(a); got != "a, token=[REDACTED]" {
		t.Errorf("%q", got)
	}
	if Both(nil, nil) != nil || Both(a, nil) != a || Both(nil, b) != b || Both(a, a) != a {
		t.Error("an error with nothing is itself")
	}
	if ab := Both(a, b); !errors.Is(ab, a) || !errors.Is(ab, b) || ab.Error() != "lens: a, token=x; b" {
		t.Errorf("%v", ab)
	}
}
