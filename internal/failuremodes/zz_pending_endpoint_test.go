//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/internal/otlptest"
)

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
