//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	noopmetric "go.opentelemetry.io/otel/metric/noop"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// A signal that nobody gave a destination is off when another one has its own, and the
// line about the set-up says where each goes.
func TestFieldB3ASignalWithoutADestinationIsOff(t *testing.T) {
	s := otlptest.Start(t)
	url := s.GRPCURL()
	off := `off: no destination, as `
	for name, c := range map[string]struct {
		env                   map[string]string
		traces, metrics, logs bool
		line                  []string
	}{
		"only traces": {variables("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url), true, false, false, []string{
			`traces="grpc://127.0.0.1:`,
			`metrics="` + off + `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is for traces only; OTEL_EXPORTER_OTLP_METRICS_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT gives one"`,
			`logs="` + off + `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is for traces only; OTEL_EXPORTER_OTLP_LOGS_ENDPOINT`}},
		"only metrics": {variables("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", url), false, true, false, []string{
			`traces="` + off + `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT is for metrics only`, `metrics="grpc://127.0.0.1:`, `logs="` + off}},
		"only logs": {variables("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", url), false, false, true, []string{`traces="` + off, `metrics="` + off, `logs="grpc://127.0.0.1:`}},
		"two of three": {variables("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", url), true, true, false,
			[]string{`traces="grpc://127.0.0.1:`, `metrics="grpc://127.0.0.1:`, `logs="` + off}},
		"the general one": {variables("OTEL_EXPORTER_OTLP_ENDPOINT", url), true, true, true,
			[]string{`traces="grpc://127.0.0.1:`, `metrics="grpc://127.0.0.1:`, `logs="grpc://127.0.0.1:`}},
		"the general one and one of a signal": {variables("OTEL_EXPORTER_OTLP_ENDPOINT", url, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url), true, true, true, nil},
		"lens's own":                          {variables("NEMO_LENS_ENDPOINT", url, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1"), true, true, true, nil},
		"quotes and blanks": {variables("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", `"`+url+`"`, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", " "), true, false, false,
			[]string{`metrics="` + off}},
		"switched off beside": {variables("OTEL_EXPORTER_OTLP_ENDPOINT", url, "OTEL_METRICS_EXPORTER", "none", "NEMO_LENS_LOGS_ENABLED", "0"), true, false, false,
			[]string{`metrics=none`, `logs=off `}},
	} {
		t.Run(name, func(t *testing.T) {
			s.Reset()
			env := variables("NEMO_LENS_METRICS_ENABLED", "1", "NEMO_LENS_LOGS_ENABLED", "1")
			for k, v := range c.env {
				env[k] = v
			}
			tm, err := fromEnv(t, env)
			require.NoError(t, err)
			makeSpans(1)
			if c.metrics {
				measure(t, tm)
			} else if c.env["OTEL_METRICS_EXPORTER"] == "" {
				require.Equal(t, noopmetric.NewMeterProvider(), tm.MeterProvider())
			}
			emit(tm, "hello")
			require.NoError(t, tm.Shutdown(context.Background()), &tm.log)
			for signal, want := range map[otlptest.Signal]bool{otlptest.Traces: c.traces, otlptest.Metrics: c.metrics, otlptest.Logs: c.logs} {
				require.Equal(t, want, s.Count(signal) > 0, "%s: %s", signal, tm.log)
			}
			for _, text := range c.line {
				require.Contains(t, tm.log.String(), text)
			}
		})
	}
}

// All of it: there is nothing to export.
func TestFieldB3NoSignalHasADestination(t *testing.T) {
	tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:1"))
	require.NoError(t, err)
	require.False(t, tm.IsExporting())
	require.Contains(t, tm.log.String(), `level=WARN msg="lens: telemetry is on, and nothing is exported" traces="off: no destination`)
	require.NoError(t, tm.Shutdown(context.Background()))
}

// Nothing is said at all: the default endpoint, for every signal.
func TestFieldB3TheDefaultIsTheDefaultEndpoint(t *testing.T) {
	tm, err := fromEnv(t, variables("NEMO_LENS_METRICS_ENABLED", "1", "NEMO_LENS_LOGS_ENABLED", "1", "NEMO_LENS_SHUTDOWN_TIMEOUT", "1ms"))
	require.NoError(t, err)
	require.Contains(t, tm.log.String(), `traces="grpc://localhost:4317 (plaintext)" metrics="grpc://localhost:4317 (plaintext)" logs="grpc://localhost:4317 (plaintext)"`)
	_ = tm.Shutdown(context.Background())
}
