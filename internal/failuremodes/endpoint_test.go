//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// deliver makes a span and reports whether the receiver got it.
func deliver(t *testing.T, tm telemetry, s *otlptest.Server) bool {
	t.Helper()
	before := s.Count(otlptest.Traces)
	makeSpans(1)
	err := tm.Shutdown(context.Background())
	if got := s.Count(otlptest.Traces) == before+1; got != (err == nil) {
		t.Errorf("delivered: %v, but Shutdown says: %v", got, err)
	}
	return s.Count(otlptest.Traces) == before+1
}

func TestC1AddressForms(t *testing.T) {
	s := otlptest.Start(t)
	for _, protocol := range protocols {
		addr := s.GRPCAddr()
		if protocol == httpProtocol {
			addr = s.HTTPAddr()
		}
		_, port, err := net.SplitHostPort(addr)
		require.NoError(t, err)
		for _, c := range []struct {
			text  string
			where string // in Endpoint(); "" when set-up must refuse it
		}{
			{"http://" + addr, addr},
			{"HTTP://" + addr, addr},
			{addr, addr},
			{" http://" + addr + " ", addr},
			{"http://" + addr + "/", addr},
			{`"http://` + addr + `"`, addr},
			{"'" + addr + "'", addr},
			{"localhost:" + port, "localhost:" + port},
			{"http://127.0.0.1:notaport", ""},
			{"http://127.0.0.1:99999", ""},
			{"http://host:1:2", ""},
			{"ftp://" + addr, ""},
			{"http://user:hunter2@" + addr, ""},
			{"http://" + addr + "?token=hunter2", ""},
			{"http://bücher.example:" + port, ""},
			{"http://", ""},
			{":" + port, ""},
		} {
			for _, variable := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "NEMO_LENS_ENDPOINT"} {
				t.Run(fmt.Sprint(protocol, " ", variable, " ", c.text), func(t *testing.T) {
					vars := variables(variable, c.text, "OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
					if variable == "NEMO_LENS_ENDPOINT" {
						vars["NEMO_LENS_PROTOCOL"] = protocol
					}
					tm, err := fromEnv(t, vars)
					if c.where == "" {
						require.ErrorContains(t, err, variable)
						require.NotContains(t, err.Error(), "hunter2")
						require.False(t, tm.IsExporting())
						return
					}
					require.NoError(t, err)
					require.Contains(t, tm.Endpoint(), c.where)
					require.Contains(t, tm.Endpoint(), "plaintext")
					require.Contains(t, tm.log.String(), tm.Endpoint(), "the start-up line shows it")
					require.True(t, deliver(t, tm, s))
				})
			}
		}
		for _, blank := range []string{"", "   "} {
			t.Run(protocol+" blank"+blank, func(t *testing.T) {
				tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_ENDPOINT", blank, "OTEL_EXPORTER_OTLP_PROTOCOL", protocol))
				require.NoError(t, err)
				require.Contains(t, tm.Endpoint(), "localhost:431")
				require.NoError(t, tm.Shutdown(context.Background()))
			})
		}
	}
	t.Run("IPv6", func(t *testing.T) {
		tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_ENDPOINT", "[::1]:5317"))
		require.NoError(t, err)
		require.Equal(t, "grpc://[::1]:5317 (plaintext)", tm.Endpoint())
	})
	t.Run("a name that is not local needs TLS", func(t *testing.T) {
		tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_ENDPOINT", "collector.example"))
		require.NoError(t, err)
		require.Equal(t, "grpc://collector.example:4317 (TLS)", tm.Endpoint())
	})
}

func TestC2Paths(t *testing.T) {
	s := otlptest.Start(t, otlptest.WithHTTPPath(otlptest.Traces, "/otlp/v1/traces"), otlptest.WithHTTPPath(otlptest.Traces, "/own"))
	for _, c := range []struct{ variable, path, want string }{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "", "/v1/traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "/", "/v1/traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "/otlp", "/otlp/v1/traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "/otlp/", "/otlp/v1/traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "/v1/traces", "/v1/traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "/otlp/v1/traces", "/otlp/v1/traces"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/own", "/own"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/v1/traces", "/v1/traces"},
		{"NEMO_LENS_ENDPOINT", "/otlp", "/otlp/v1/traces"},
		{"NEMO_LENS_ENDPOINT", "/v1/traces", "/v1/traces"},
	} {
		t.Run(c.variable+" "+c.path, func(t *testing.T) {
			s.Reset()
			tm, err := fromEnv(t, variables(c.variable, s.HTTPURL()+c.path, "OTEL_EXPORTER_OTLP_PROTOCOL", httpProtocol, "NEMO_LENS_PROTOCOL", httpProtocol))
			require.NoError(t, err)
			require.True(t, deliver(t, tm, s))
			require.Equal(t, c.want, s.Requests()[0].Path)
		})
	}
}

func TestC3TLSMode(t *testing.T) {
	tls, plain := otlptest.Start(t, otlptest.WithTLS()), otlptest.Start(t)
	for _, protocol := range protocols {
		tlsAddr, plainAddr := tls.GRPCAddr(), plain.GRPCAddr()
		if protocol == httpProtocol {
			tlsAddr, plainAddr = tls.HTTPAddr(), plain.HTTPAddr()
		}
		for _, c := range []struct {
			endpoint, insecure string
			tls                bool
		}{
			{"https://" + tlsAddr, "", true},
			{"https://" + tlsAddr, "true", true}, // the scheme wins
			{tlsAddr, "false", true},
			{"http://" + plainAddr, "", false},
			{"http://" + plainAddr, "false", false},
			{plainAddr, "true", false},
			{plainAddr, "YES", false},
			{plainAddr, "", false}, // loopback
		} {
			t.Run(fmt.Sprint(protocol, " ", c.endpoint, " insecure=", c.insecure), func(t *testing.T) {
				tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_ENDPOINT", c.endpoint, "OTEL_EXPORTER_OTLP_INSECURE", c.insecure,
					"OTEL_EXPORTER_OTLP_PROTOCOL", protocol, "OTEL_EXPORTER_OTLP_CERTIFICATE", tls.CAFile()))
				require.NoError(t, err)
				require.Equal(t, c.tls, strings.HasSuffix(tm.Endpoint(), "(TLS)"), tm.Endpoint())
				s := plain
				if c.tls {
					s = tls
				}
				require.True(t, deliver(t, tm, s))
			})
		}
	}
	t.Run("junk in INSECURE", func(t *testing.T) {
		_, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_INSECURE", "maybe"))
		require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_INSECURE")
	})
}

func TestC4C5ForeignVariablesHaveNoPart(t *testing.T) {
	own, foreign := otlptest.Start(t), otlptest.Start(t)
	for _, protocol := range protocols {
		foreignURL := urlOf(foreign, protocol)
		for what, vars := range map[string]map[string]string{
			"another product's": variables(
				"OTEL_EXPORTER_OTLP_ENDPOINT", foreignURL, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", foreignURL+"/their/path",
				"OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=vendor-key", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "authorization=Bearer%20vendor-key",
				"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "OTEL_EXPORTER_OTLP_TIMEOUT", "1", "OTEL_EXPORTER_OTLP_INSECURE", "false",
				"OTEL_EXPORTER_OTLP_PROTOCOL", otherProtocol(protocol)),
			"junk": variables(
				"OTEL_EXPORTER_OTLP_ENDPOINT", ":::", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "%%", "OTEL_EXPORTER_OTLP_HEADERS", "==,,=",
				"OTEL_EXPORTER_OTLP_COMPRESSION", "zip", "OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "OTEL_EXPORTER_OTLP_INSECURE", "perhaps",
				"OTEL_EXPORTER_OTLP_PROTOCOL", "smoke signals", "OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere", "OTEL_EXPORTER_OTLP_CLIENT_KEY", "/nowhere"),
		} {
			for _, given := range []string{"code", "environment"} {
				t.Run(fmt.Sprint(protocol, " ", what, " ", given), func(t *testing.T) {
					own.Reset()
					foreign.Reset()
					for k, v := range vars {
						t.Setenv(k, v)
					}
					var tm telemetry
					if given == "code" {
						tm = setUp(t, config(to(protocol, urlOf(own, protocol)), func(c *lens.Config) { c.Headers = "x-ours=1" }))
					} else {
						var err error
						tm, err = fromEnv(t, variables("NEMO_LENS_ENDPOINT", urlOf(own, protocol), "NEMO_LENS_PROTOCOL", protocol, "NEMO_LENS_HEADERS", "x-ours=1"))
						require.NoError(t, err)
					}
					require.True(t, deliver(t, tm, own))
					require.Empty(t, foreign.Requests())
					r := own.Requests()[0]
					require.Equal(t, "1", r.Header.Get("x-ours"))
					require.Empty(t, r.Header.Get("x-api-key"))
					require.Empty(t, r.Header.Get("authorization"))
					require.Empty(t, r.Encoding)
					require.NotContains(t, r.Path, "their")
				})
			}
		}
	}
}

func otherProtocol(protocol string) string {
	if protocol == grpcProtocol {
		return httpProtocol
	}
	return grpcProtocol
}

func TestC12HeaderValuesArriveExactly(t *testing.T) {
	s := otlptest.Start(t)
	for _, protocol := range protocols {
		s.Reset()
		tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_ENDPOINT", urlOf(s, protocol), "OTEL_EXPORTER_OTLP_PROTOCOL", protocol,
			"OTEL_EXPORTER_OTLP_HEADERS", "x-base64=YWJj+/==,x-space=Bearer%20a b , x-comma=a%2Cb,x-percent=100%25,x-empty=,nonsense,x bad=hunter2,x-line=a%0Ahunter2"))
		require.NoError(t, err)
		require.True(t, deliver(t, tm, s))
		h := s.Requests()[0].Header
		for key, want := range map[string]string{"x-base64": "YWJj+/==", "x-space": "Bearer a b", "x-comma": "a,b", "x-percent": "100%"} {
			require.Equal(t, want, h.Get(key), "%s %s", protocol, key)
		}
		require.NotContains(t, tm.log.String(), "hunter2")
		require.Contains(t, tm.log.String(), "OTEL_EXPORTER_OTLP_HEADERS")
		require.Contains(t, tm.log.String(), "x-line", "the key of what cannot be sent is named")
		require.Empty(t, h.Get("x-line"))
	}
}

func TestC21CertificateFiles(t *testing.T) {
	s := otlptest.Start(t, otlptest.WithClientCert())
	cert, key := s.ClientCertFiles()
	useless := filepath.Join(t.TempDir(), "useless.pem")
	require.NoError(t, os.WriteFile(useless, []byte("no certificate"), 0o600))
	for _, protocol := range protocols {
		good := variables("OTEL_EXPORTER_OTLP_ENDPOINT", urlOf(s, protocol), "OTEL_EXPORTER_OTLP_PROTOCOL", protocol,
			"OTEL_EXPORTER_OTLP_CERTIFICATE", s.CAFile(), "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", cert, "OTEL_EXPORTER_OTLP_CLIENT_KEY", key)
		tm, err := fromEnv(t, good)
		require.NoError(t, err)
		require.True(t, deliver(t, tm, s), protocol)
		for _, variable := range []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"} {
			for _, path := range []string{"/nowhere/ca.pem", useless, t.TempDir()} {
				t.Run(fmt.Sprint(protocol, " ", variable, " ", filepath.Base(path)), func(t *testing.T) {
					for k, v := range good {
						t.Setenv(k, v)
					}
					tm, err := fromEnv(t, variables(variable, path))
					require.ErrorContains(t, err, variable)
					require.False(t, tm.IsExporting())
				})
			}
		}
		t.Run(protocol+" without the authority", func(t *testing.T) {
			for k, v := range good {
				t.Setenv(k, v)
			}
			tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_CERTIFICATE", "", "NEMO_LENS_SHUTDOWN_TIMEOUT", "1s"))
			require.NoError(t, err)
			makeSpans(1)
			require.ErrorContains(t, tm.Shutdown(context.Background()), "1 of 1 spans lost")
		})
	}
}

func TestC13ProtocolAndSwitches(t *testing.T) {
	s := otlptest.Start(t)
	for text, over := range map[string]otlptest.Protocol{
		"grpc": otlptest.GRPC, "GRPC": otlptest.GRPC, "http/protobuf": otlptest.HTTP, "http/json": otlptest.HTTP, "": otlptest.GRPC, "junk": otlptest.GRPC,
	} {
		for _, variable := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
			t.Run(variable+"="+text, func(t *testing.T) {
				s.Reset()
				url := s.GRPCURL()
				if over == otlptest.HTTP {
					url = s.HTTPURL()
				}
				vars := variables(variable, text, "OTEL_EXPORTER_OTLP_ENDPOINT", url)
				if variable == "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL" && text != "" {
					vars["OTEL_EXPORTER_OTLP_PROTOCOL"] = otherProtocol(string(over)) // the signal's own comes first
				}
				tm, err := fromEnv(t, vars)
				require.NoError(t, err)
				require.True(t, deliver(t, tm, s))
				require.Equal(t, over, s.Requests()[0].Protocol)
				require.Equal(t, text == "junk" || text == "http/json", strings.Contains(tm.log.String(), variable), tm.log)
			})
		}
	}
	for text, disabled := range map[string]bool{"true": true, "TRUE": true, "1": false, "false": false, "": false, "  ": false} {
		t.Run("OTEL_SDK_DISABLED="+text, func(t *testing.T) {
			tm, err := fromEnv(t, variables("OTEL_SDK_DISABLED", text, "OTEL_EXPORTER_OTLP_ENDPOINT", s.GRPCURL()))
			require.NoError(t, err)
			require.Equal(t, !disabled, tm.IsExporting())
			require.Equal(t, !disabled, lens.IsSpanGroupEnabled(lens.Step))
			require.NoError(t, tm.Shutdown(context.Background()))
		})
	}
	for variable, text := range map[string]string{
		"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s", "OTEL_TRACES_EXPORTER": "jaeger",
		"OTEL_PROPAGATORS": "smoke", "OTEL_TRACES_SAMPLER": "nonsense", "OTEL_SDK_DISABLED": "perhaps",
	} {
		t.Run("unknown value in "+variable, func(t *testing.T) {
			s.Reset()
			tm, err := fromEnv(t, variables(variable, text, "OTEL_EXPORTER_OTLP_ENDPOINT", s.GRPCURL()))
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(tm.log.String(), variable+"="), tm.log)
			require.True(t, deliver(t, tm, s))
		})
	}
}

func TestF4RedirectsAreNotFollowed(t *testing.T) {
	var elsewhere int
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer thief.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := otlptest.Start(t)
			s.SetFault(otlptest.Redirect(status, thief.URL+"/v1/traces?token=hunter2"))
			tm := setUp(t, config(to(httpProtocol, s.HTTPURL()), func(c *lens.Config) { c.Headers = "x-api-key=hunter2" }))
			makeSpans(2)
			err := tm.Shutdown(context.Background())
			require.ErrorContains(t, err, "2 of 2 spans lost")
			require.ErrorContains(t, err, "redirect")
			require.NotContains(t, err.Error(), "hunter2")
			require.EqualValues(t, 2, tm.Stats().Failed)
		})
	}
	require.Zero(t, elsewhere)
}

// Where a receiver sends to can be a secret, also when it is no URL at all.
func TestFieldD6SecretsInALocation(t *testing.T) {
	for _, location := range []string{
		"/cb%zz?code=" + secret, "?x='a'&token=" + secret, "mailto:" + secret, "#a'" + secret, "http://user:" + secret + "%zz@127.0.0.1/",
	} {
		t.Run(location, func(t *testing.T) {
			s := otlptest.Start(t)
			s.SetFault(otlptest.Redirect(http.StatusTemporaryRedirect, location))
			tm := setUp(t, config(to(httpProtocol, s.HTTPURL()), allSignals))
			makeSpans(2)
			measure(t, tm)
			emit(tm, "hello")
			err := tm.Shutdown(context.Background())
			require.ErrorContains(t, err, "2 of 2 spans lost")
			require.NotContains(t, err.Error(), secret)
			require.NotContains(t, tm.log.String(), secret)
		})
	}
}

var behindProxy = program("C20", func() {
	h := mustSetUp()
	makeSpans(1)
	check(h.Shutdown(context.Background()), 80)
})

func TestC20LoopbackNeedsNoProxy(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := otlptest.Start(t)
			dead := "http://" + otlptest.ClosedAddr(t)
			p := runChild(t, behindProxy, exportTo(protocol, urlOf(s, protocol), "HTTP_PROXY="+dead, "HTTPS_PROXY="+dead, "NO_PROXY=*.svc")...)
			require.Zero(t, p.status(t), &p.stderr)
			require.Equal(t, 1, s.Count(otlptest.Traces))
		})
	}
}

func TestC22TheProgramRunsWithoutTelemetry(t *testing.T) {
	for variable, text := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": ":::", "NEMO_LENS_EXPORTER": "kafka", "NEMO_LENS_EXPORT_STRATEGY": "all", "NEMO_LENS_SPAN_GROUPS": "setp",
		"NEMO_LENS_EXPORTER_FILE": "/nowhere/spans.jsonl", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, text)
			t.Setenv("NEMO_LENS_ENABLED", "1")
			if variable == "NEMO_LENS_EXPORTER_FILE" {
				t.Setenv("NEMO_LENS_EXPORTER", "console")
			}
			if variable == "OTEL_EXPORTER_OTLP_CERTIFICATE" {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://localhost:4317")
			}
			cfg, err := lens.FromEnv("", "", nil)
			require.NoError(t, err)
			tm, err := trySetUp(t, cfg)
			require.Error(t, err, "the strict mode is to look at it")
			require.ErrorContains(t, err, variable)
			// And the other one is not to.
			makeSpans(1)
			require.NoError(t, tm.ForceFlush(context.Background()))
			require.NoError(t, tm.Shutdown(context.Background()))
			require.Zero(t, lens.EnabledSpanGroups().Len())
			good := setUp(t, config(func(c *lens.Config) { c.Exporter = "none" }))
			require.NoError(t, good.Shutdown(context.Background()), "a failed set-up leaves nothing in the way")
		})
	}
}

func TestC3AMismatchIsExplainedInTime(t *testing.T) {
	tls, plain := otlptest.Start(t, otlptest.WithTLS()), otlptest.Start(t)
	for _, protocol := range protocols {
		tlsAddr, plainAddr := tls.GRPCAddr(), plain.GRPCAddr()
		if protocol == httpProtocol {
			tlsAddr, plainAddr = tls.HTTPAddr(), plain.HTTPAddr()
		}
		for what, endpoint := range map[string]string{"TLS to plaintext": "https://" + plainAddr, "plaintext to TLS": "http://" + tlsAddr} {
			t.Run(protocol+" "+what, func(t *testing.T) {
				tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL", protocol,
					"OTEL_EXPORTER_OTLP_CERTIFICATE", tls.CAFile(), "NEMO_LENS_SHUTDOWN_TIMEOUT", "400ms"))
				require.NoError(t, err)
				makeSpans(1)
				err = tm.Shutdown(context.Background())
				require.ErrorContains(t, err, "1 of 1 spans lost")
				require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_ENDPOINT", "a hint names the variable")
			})
		}
	}
}

func TestC20AProxyIsNamedWhenItFails(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
			defer proxy.Close()
			p := runChild(t, behindProxy, exportTo(protocol, "http://collector.invalid:4317", "HTTP_PROXY="+proxy.URL, "HTTPS_PROXY="+proxy.URL,
				"NEMO_LENS_SHUTDOWN_TIMEOUT=1s")...)
			require.Equal(t, 80, p.status(t))
			require.Contains(t, p.stderr.String(), "_PROXY", "the error mentions the proxy")
		})
	}
}
