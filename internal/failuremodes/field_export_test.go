//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// A mode is a way to say where telemetry goes. Its name is what messages call a setting.
type mode struct {
	what   string
	name   func(suffix string) string
	config func(t *testing.T, settings map[string]string) lens.Config
}

// modes are all ways to give the settings of an export.
func modes() []mode {
	variables := func(what, prefix, fallback, own string) mode {
		return mode{what, func(suffix string) string { return own + suffix }, func(t *testing.T, settings map[string]string) lens.Config {
			t.Helper()
			for suffix, text := range settings {
				t.Setenv(own+suffix, text)
			}
			cfg, err := lens.FromEnv(prefix, fallback, nil)
			require.NoError(t, err)
			return cfg
		}}
	}
	fields := map[string]string{"ENDPOINT": "Endpoint", "HEADERS": "Headers", "CERTIFICATE": "Certificate",
		"CLIENT_CERTIFICATE": "ClientCertificate", "CLIENT_KEY": "ClientKey", "INSECURE": "Insecure",
		"METRICS_ENABLED": "MetricsEnabled", "LOGS_ENABLED": "LogsEnabled"}
	return []mode{
		variables("lens", "", "", "NEMO_LENS_"),
		variables("own prefix", "MY_APP", "NEMO_LENS", "MY_APP_"),
		variables("standard", "", "", "OTEL_EXPORTER_OTLP_"),
		{"code", func(suffix string) string { return "Config." + fields[suffix] }, func(_ *testing.T, s map[string]string) lens.Config {
			cfg := lens.DefaultConfig()
			cfg.Endpoint, cfg.Protocol, cfg.Headers = s["ENDPOINT"], s["PROTOCOL"], s["HEADERS"]
			cfg.Certificate, cfg.ClientCertificate, cfg.ClientKey = s["CERTIFICATE"], s["CLIENT_CERTIFICATE"], s["CLIENT_KEY"]
			if text, ok := s["INSECURE"]; ok {
				cfg.Insecure = new(text == "true")
			}
			return cfg
		}},
	}
}

// eachMode runs f over both protocols in every mode.
func eachMode(t *testing.T, f func(t *testing.T, m mode, protocol string)) {
	t.Helper()
	for _, protocol := range protocols {
		for _, m := range modes() {
			t.Run(protocol+" "+m.what, func(t *testing.T) { f(t, m, protocol) })
		}
	}
}

// allOf sends one item of each signal in this mode, and returns what Shutdown says.
func (m mode) allOf(t *testing.T, settings map[string]string) error {
	t.Helper()
	cfg := m.config(t, settings)
	cfg.Enabled, cfg.SpanGroups, cfg.LogsEnabled, cfg.ShutdownTimeout = true, "all", true, limit
	tm := setUp(t, cfg)
	makeSpans(1)
	measure(t, tm)
	emit(tm, "hello")
	return tm.Shutdown(context.Background())
}

// requireOnly checks that text names the variables of the suffixes and no other's.
func (m mode) requireOnly(t *testing.T, text string, suffixes ...string) {
	t.Helper()
	for _, s := range suffixes {
		require.Contains(t, text, m.name(s))
	}
	for _, other := range modes() {
		for _, s := range []string{"HEADERS", "CERTIFICATE", "CLIENT_CERTIFICATE", "ENDPOINT", "TIMEOUT", "PROTOCOL", "METRICS_ENABLED", "LOGS_ENABLED"} {
			if other.what != m.what && !strings.HasPrefix(other.name(s), m.name("")) {
				require.NotContains(t, text, other.name(s))
			}
		}
	}
}

func TestFieldB5CertificatesInEveryMode(t *testing.T) {
	s := otlptest.Start(t, otlptest.WithClientCert())
	cert, key := s.ClientCertFiles()
	eachMode(t, func(t *testing.T, m mode, protocol string) {
		s.Reset()
		url := urlOf(s, protocol)
		require.True(t, strings.HasPrefix(url, "https://"))
		settings := variables("ENDPOINT", url, "PROTOCOL", protocol, "CERTIFICATE", s.CAFile(), "CLIENT_CERTIFICATE", cert, "CLIENT_KEY", key)
		require.NoError(t, m.allOf(t, settings))
		require.Equal(t, 1, s.Count(otlptest.Traces))
		require.NotZero(t, s.Count(otlptest.Metrics))
		require.Equal(t, 1, s.Count(otlptest.Logs))

		// INSECURE decides where the scheme does not.
		s.Reset()
		settings["ENDPOINT"], settings["INSECURE"] = strings.TrimPrefix(url, "https://"), "false"
		require.NoError(t, m.allOf(t, settings))
		require.Equal(t, 1, s.Count(otlptest.Traces))
		settings["INSECURE"] = "true"
		plain := otlptest.Start(t)
		settings["ENDPOINT"] = strings.TrimPrefix(urlOf(plain, protocol), "http://")
		require.NoError(t, m.allOf(t, settings))
		require.Equal(t, 1, plain.Count(otlptest.Traces))
	})
}

func TestFieldB5HintsNameWhatHelps(t *testing.T) {
	refusing, secure := otlptest.Start(t), otlptest.Start(t, otlptest.WithClientCert())
	refusing.SetFault(otlptest.Reject(codes.Unauthenticated, 401))
	eachMode(t, func(t *testing.T, m mode, protocol string) {
		err := m.allOf(t, variables("ENDPOINT", urlOf(refusing, protocol), "PROTOCOL", protocol))
		m.requireOnly(t, err.Error(), "HEADERS")

		settings := variables("ENDPOINT", urlOf(secure, protocol), "PROTOCOL", protocol)
		err = m.allOf(t, settings)
		require.ErrorContains(t, err, "x509")
		m.requireOnly(t, err.Error(), "CERTIFICATE")
		settings["CERTIFICATE"] = secure.CAFile()
		err = m.allOf(t, settings)
		m.requireOnly(t, err.Error(), "CLIENT_CERTIFICATE", "CLIENT_KEY")

		settings["ENDPOINT"] = strings.Replace(settings["ENDPOINT"], "https", "http", 1)
		cfg := m.config(t, settings)
		cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled, cfg.ShutdownTimeout = true, "all", false, 300*time.Millisecond
		tm := setUp(t, cfg)
		require.Contains(t, tm.log.String(), m.name("CERTIFICATE")+" is not used")
		makeSpans(1)
		err = tm.Shutdown(context.Background())
		m.requireOnly(t, err.Error(), "ENDPOINT")
	})
}

// Nothing but NEMO_LENS_HEADERS is set of lens's own.
func TestFieldB5OnlyHeadersAreSet(t *testing.T) {
	s := otlptest.Start(t)
	s.SetFault(otlptest.Reject(codes.PermissionDenied, 403))
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_ENDPOINT", urlOf(s, protocol), "OTEL_EXPORTER_OTLP_PROTOCOL", protocol,
				"NEMO_LENS_HEADERS", "x-key=1,nonsense"))
			require.NoError(t, err)
			require.Contains(t, tm.log.String(), "NEMO_LENS_HEADERS: item 2 of 2")
			makeSpans(1)
			err = tm.Shutdown(context.Background())
			require.ErrorContains(t, err, "NEMO_LENS_HEADERS")
			require.NotContains(t, tm.log.String()+err.Error(), "_OTLP_HEADERS")
			require.NotContains(t, tm.log.String()+err.Error(), "_TRACES_HEADERS")
		})
	}
}

// A receiver that takes spans and nothing else.
func TestFieldB4NoPlaceForASignal(t *testing.T) {
	s := otlptest.Start(t)
	eachMode(t, func(t *testing.T, m mode, protocol string) {
		s.Reset()
		s.SetFault(otlptest.Reject(codes.Unimplemented, 404).On(otlptest.Metrics), otlptest.Reject(codes.Unimplemented, 404).On(otlptest.Logs))
		err := m.allOf(t, variables("ENDPOINT", urlOf(s, protocol), "PROTOCOL", protocol))
		require.Equal(t, 1, s.Count(otlptest.Traces))
		for _, signal := range []string{"metrics", "logs"} {
			require.ErrorContains(t, err, "this receiver takes no "+signal)
			switch m.what {
			case "standard": // the receiver is the standard variables', the switch is lens's
				require.ErrorContains(t, err, "set NEMO_LENS_"+strings.ToUpper(signal)+"_ENABLED to false")
			default:
				m.requireOnly(t, err.Error(), strings.ToUpper(signal)+"_ENABLED")
			}
		}
		require.NotContains(t, err.Error(), "PROTOCOL")
		require.NotContains(t, err.Error(), "spans")
	})
}

// Metrics of more than a request may have, of many instruments and of one.
func TestFieldB1MetricsAboveTheLimit(t *testing.T) {
	for _, protocol := range protocols {
		for what, instruments := range map[string]int{"many instruments": 100, "one instrument": 1} {
			for refused, fault := range map[string][]otlptest.Fault{"": nil, " behind a proxy": {otlptest.MaxRequestBytes(1 << 20)}} {
				t.Run(protocol+" "+what+refused, func(t *testing.T) {
					const points = 300 // of 20 kB each
					s := otlptest.Start(t, otlptest.WithMaxRequestBytes(4<<20))
					s.SetFault(fault...)
					tm := setUp(t, config(to(protocol, urlOf(s, protocol)), allSignals, within(limit)))
					record(t, tm, instruments, points/instruments)
					for range 2 {
						s.Reset()
						s.SetFault(fault...)
						require.NoError(t, tm.ForceFlush(context.Background()))
						got := 0
						for _, m := range s.Metrics() {
							if strings.HasPrefix(m.Name, "tokens") {
								got += len(m.Points)
							}
						}
						require.Equal(t, points, got)
						require.Contains(t, metricNames(s), "otel.sdk.span.started")
					}
					require.NoError(t, tm.Shutdown(context.Background()))
					require.Zero(t, tm.Stats().Metrics.Lost)
				})
			}
		}
	}
}

// record makes instruments with as many points each, of 20 kB. Few large points fill a
// request as many small ones do, and -race pays for each.
func record(t *testing.T, tm telemetry, instruments, points int) {
	t.Helper()
	long := strings.Repeat("x", 20_000)
	for i := range instruments {
		gauge, err := tm.Meter().Int64ObservableGauge(fmt.Sprint("tokens", i))
		require.NoError(t, err)
		registered, err := tm.Meter().RegisterCallback(func(_ context.Context, o metric.Observer) error {
			for p := range points {
				o.ObserveInt64(gauge, int64(p), metric.WithAttributes(attribute.Int("point", p), attribute.String("text", long)))
			}
			return nil
		}, gauge)
		require.NoError(t, err)
		// It would go on in the next set-up.
		t.Cleanup(func() { require.NoError(t, registered.Unregister()) })
	}
}

func metricNames(s *otlptest.Server) []string {
	var names []string
	for _, m := range s.Metrics() {
		names = append(names, m.Name)
	}
	return names
}

func TestFieldB7TracestateOfALink(t *testing.T) {
	s := otlptest.Start(t)
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			s.Reset()
			tm := setUp(t, config(to(protocol, urlOf(s, protocol))))
			state, err := trace.ParseTraceState("vendor=a:b,other=2")
			require.NoError(t, err)
			linked := trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state, Remote: true})
			_, span := tm.Tracer().Start(context.Background(), "linked", trace.WithLinks(trace.Link{SpanContext: linked}))
			span.End()
			require.NoError(t, tm.Shutdown(context.Background()))
			link := s.Spans()[0].Links[0]
			require.Equal(t, "vendor=a:b,other=2", link.TraceState)
			require.Equal(t, linked.TraceID(), link.TraceID)
			require.EqualValues(t, 0x301, link.Flags, "sampled, and known to be remote")
		})
	}
}

// Exports take milliseconds, which the buckets must tell apart.
func TestFieldB8ExportDurationHasBucketsBelowASecond(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), allSignals))
	makeSpans(1)
	require.NoError(t, tm.Shutdown(context.Background()))
	for _, m := range s.Metrics() {
		if m.Name != "otel.sdk.exporter.operation.duration" {
			continue
		}
		require.Equal(t, "s", m.Unit)
		p := m.Points[0]
		require.EqualValues(t, 1, p.Count)
		require.LessOrEqual(t, p.Bounds[0], 0.001)
		below := 0
		for _, b := range p.Bounds {
			if b < 1 {
				below++
			}
		}
		require.GreaterOrEqual(t, below, 8, "%v", p.Bounds)
		return
	}
	t.Fatal("the metric is missing")
}

// What is lost of metrics in several requests is counted, and no more.
func TestFieldB1LostPartsAreCounted(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), allSignals, within(limit)))
			record(t, tm, 10, 60)
			s.SetFault(otlptest.PartialSuccess(7, "").On(otlptest.Metrics))
			err := tm.ForceFlush(context.Background())
			lost := tm.Stats().Metrics.Lost
			require.NotZero(t, lost)
			require.Zero(t, lost%7)
			require.ErrorContains(t, err, fmt.Sprint(lost, " of ", lost+tm.Stats().Metrics.Exported, " data points lost"))
			require.EqualValues(t, tm.Stats().Metrics.Exported, s.Count(otlptest.Metrics))

			// One of the requests is refused.
			s.SetFault(otlptest.Reject(codes.InvalidArgument, 400).On(otlptest.Metrics).Times(1))
			before := tm.Stats().Metrics
			require.Error(t, tm.ForceFlush(context.Background()))
			after := tm.Stats().Metrics
			require.Greater(t, after.Lost, before.Lost)
			require.Greater(t, after.Exported, before.Exported)
			require.EqualValues(t, after.Exported, s.Count(otlptest.Metrics))
		})
	}
}

// A point that no request can carry costs itself.
func TestFieldB1OnePointThatIsTooLarge(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), allSignals, within(limit)))
			record(t, tm, 3, 10)
			counter, err := tm.Meter().Int64Counter("giant")
			require.NoError(t, err)
			counter.Add(context.Background(), 1, metric.WithAttributes(attribute.String("text", strings.Repeat("x", 5<<20))))
			err = tm.ForceFlush(context.Background())
			require.ErrorContains(t, err, "1 of ")
			require.ErrorContains(t, err, `a data point of "giant" takes`)
			require.EqualValues(t, 1, tm.Stats().Metrics.Lost)
			require.EqualValues(t, tm.Stats().Metrics.Exported, s.Count(otlptest.Metrics))
		})
	}
}
