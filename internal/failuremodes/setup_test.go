//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens"
)

const (
	grpcProtocol = "grpc"
	httpProtocol = "http/protobuf"
)

var protocols = []string{grpcProtocol, httpProtocol}

// limit is far above every deadline here, for what must not take for ever.
const limit = 60 * time.Second

// telemetry is a set-up of a test with what lens says of itself.
type telemetry struct {
	*lens.TelemetryHandle
	log *buffer
}

// config has every group on, spans only, and time enough to shut down on a busy machine.
func config(change ...func(*lens.Config)) lens.Config {
	c := lens.DefaultConfig()
	c.Enabled, c.SpanGroups, c.MetricsEnabled, c.ShutdownTimeout = true, "all", false, 30*time.Second
	for _, f := range change {
		f(&c)
	}
	return c
}

// to exports to the address.
func to(protocol, url string) func(*lens.Config) {
	return func(c *lens.Config) { c.Protocol, c.Endpoint = protocol, url }
}

func within(d time.Duration) func(*lens.Config) {
	return func(c *lens.Config) { c.ShutdownTimeout = d }
}

func setUp(t *testing.T, cfg lens.Config, opts ...lens.Option) telemetry {
	t.Helper()
	tm, err := trySetUp(t, cfg, opts...)
	require.NoError(t, err)
	return tm
}

func trySetUp(t *testing.T, cfg lens.Config, opts ...lens.Option) (telemetry, error) {
	t.Helper()
	log := &buffer{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, err := lens.SetupTelemetry(context.Background(), cfg, append([]lens.Option{lens.WithLogger(logger)}, opts...)...)
	t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
	return telemetry{h, log}, err
}

// fromEnv sets up from the variables, which last until the end of the test.
func fromEnv(t *testing.T, variables map[string]string, opts ...lens.Option) (telemetry, error) {
	t.Helper()
	for name, value := range variables {
		t.Setenv(name, value)
	}
	cfg, err := lens.FromEnv("", "", nil)
	if err != nil {
		return telemetry{}, err
	}
	cfg.Enabled, cfg.SpanGroups = true, "all"
	if cfg.ShutdownTimeout == lens.DefaultConfig().ShutdownTimeout {
		cfg.ShutdownTimeout = config().ShutdownTimeout
	}
	if _, set := variables["NEMO_LENS_METRICS_ENABLED"]; !set {
		cfg.MetricsEnabled = false
	}
	return trySetUp(t, cfg, opts...)
}

// makeSpans starts and ends n spans.
func makeSpans(n int) {
	for range n {
		_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
		lens.End(span, nil)
	}
}

// bounded runs f, which must not take for ever, and returns how long it took.
func bounded(t *testing.T, what string, f func()) time.Duration {
	t.Helper()
	start := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s does not return", what)
	}
	return time.Since(start)
}

// requireBalance checks that no span is unaccounted for.
func requireBalance(t *testing.T, s lens.Stats, made uint64) {
	t.Helper()
	require.Equal(t, made, s.Ended, "%+v", s)
	require.Equal(t, s.Ended, s.Exported+s.Dropped+s.Failed+s.Queued, "%+v", s)
}

// requireNoLeak waits until there are no goroutines but those of before.
func requireNoLeak(t *testing.T, before goleak.Option) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; {
		err := goleak.Find(before) // itself waits for a moment
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(deadline), "%v", err)
	}
}

// exporter is an exporter of the program.
type exporter struct {
	export   func(context.Context, []sdktrace.ReadOnlySpan) error // nil: takes everything
	shutdown func(context.Context) error
}

func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if e.export == nil {
		return nil
	}
	return e.export(ctx, spans)
}

func (e *exporter) Shutdown(ctx context.Context) error {
	if e.shutdown == nil {
		return nil
	}
	return e.shutdown(ctx)
}

var errRefused = errors.New("refused")

// captured returns what is written to a standard stream of this process while f runs.
func captured(t *testing.T, stream **os.File, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	before := *stream
	*stream = w
	text := make(chan string)
	go func() {
		var b strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			b.Write(buf[:n])
			if err != nil {
				break
			}
		}
		text <- b.String()
	}()
	func() {
		defer func() {
			*stream = before
			require.NoError(t, w.Close())
		}()
		f()
	}()
	defer func() { _ = r.Close() }()
	return <-text
}

func variables(pairs ...string) map[string]string {
	if len(pairs)%2 != 0 {
		panic(fmt.Sprint("odd number of texts: ", pairs))
	}
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}
