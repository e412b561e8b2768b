//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
		cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled, cfg.ShutdownTimeout = true, "all", false, 2*time.Second
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
