//go:build !lens_noop

package lenshttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/lenstest"
)

func init() { inProcess["callee"] = callee }

type exported struct{ Name, Trace, Parent string }

// callee serves until its standard input ends. It prints its address, and in
// the end its spans.
func callee() {
	spans := tracetest.NewInMemoryExporter()
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.SpanGroups = true, "none", ""
	_, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithSpanProcessor(sdktrace.NewSimpleSpanProcessor(spans)))
	if err != nil {
		panic(err)
	}
	lens.SetEnabledSpanGroups(server)
	mux := http.NewServeMux()
	mux.Handle("POST /v1/responses", text("answer"))
	srv := httptest.NewServer(lenshttp.NewHandler(mux, server))
	fmt.Println(srv.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	srv.Close()
	var out []exported
	for _, s := range spans.GetSpans() {
		out = append(out, exported{s.Name, s.SpanContext.TraceID().String(), s.Parent.SpanID().String()})
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
}

func TestTwoProcessesOneTrace(t *testing.T) {
	const ids = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
	const none = "0000000000000000"
	for _, test := range []struct {
		name   string
		on     []lens.SpanGroup
		header string // what another program sends
		parent string // "" is the client span
	}{
		{"client on", []lens.SpanGroup{client}, "", ""},
		{"client off", nil, "", none},
		{"Python's form", nil, "00-" + ids + "-01", "b7ad6b7169203331"},
		{"unknown flags", nil, "00-" + ids + "-f9", "b7ad6b7169203331"},
		{"a later version", nil, "7f-" + ids + "-09-more", "b7ad6b7169203331"},
		{"invalid", nil, "ff-" + ids + "-01", none},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := lenstest.Start(t, test.on...)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "LENSHTTP_PROCESS=callee", "GORACE=atexit_sleep_ms=0")
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewReader(stdout)
			address, err := lines.ReadString('\n')
			require.NoError(t, err)

			base := &http.Transport{}
			c := &http.Client{Transport: lenshttp.NewTransport(base, client)}
			req, err := http.NewRequest(http.MethodPost, strings.TrimSpace(address)+"/v1/responses", strings.NewReader("{}"))
			require.NoError(t, err)
			if test.header != "" {
				req.Header.Set("traceparent", test.header)
			}
			res, err := c.Do(req)
			require.NoError(t, err)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, "answer", string(got))
			c.CloseIdleConnections()
			require.NoError(t, stdin.Close())
			var spans []exported
			require.NoError(t, json.NewDecoder(lines).Decode(&spans))
			require.NoError(t, cmd.Wait())

			require.Len(t, spans, 1)
			require.Equal(t, "POST /v1/responses", spans[0].Name)
			switch test.parent {
			case "":
				sent := rec.One("POST").SpanContext()
				require.Equal(t, exported{"POST /v1/responses", sent.TraceID().String(), sent.SpanID().String()}, spans[0])
			case none:
				require.Equal(t, none, spans[0].Parent)
			default:
				require.Equal(t, exported{"POST /v1/responses", ids[:32], test.parent}, spans[0])
			}
		})
	}
}
