package otlp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/settings"
)

// wantError checks that err holds the parts and nothing secret.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	if !strings.HasPrefix(err.Error(), "lens: ") || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("error %q", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q is not in %q", p, err)
		}
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p settings.Protocol) {
		for _, f := range []otlptest.Fault{
			otlptest.RejectTimes(2, codes.Unavailable, 503), otlptest.ResetConnection().Times(1),
			otlptest.Throttle(time.Millisecond).Times(1), otlptest.RejectTimes(1, codes.Aborted, 502),
		} {
			srv := otlptest.Start(t)
			srv.SetFault(f)
			if err := newExporter(t, plaintext(t, p, addrOf(srv, p))).ExportSpans(t.Context(), spans(3)); err != nil {
				t.Errorf("%+v: %v", f, err)
			}
			if n, want := len(srv.Requests()), f.Count+1; n != want {
				t.Errorf("%+v: %d requests, want %d", f, n, want)
			}
			if n := srv.Count(otlptest.Traces); n != 3 {
				t.Errorf("%+v: %d spans", f, n)
			}
		}
	})
}

// The receiver comes back while an export is under way (B5).
func TestReceiverComesBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p settings.Protocol) {
		srv := otlptest.Start(t)
		e := newExporter(t, plaintext(t, p, addrOf(srv, p)))
		if err := e.ExportSpans(t.Context(), spans(1)); err != nil {
			t.Fatal(err)
		}
		srv.Stop()
		c := e.(*TraceExporter).client
		watched := &watchedSender{sender: c.sender, failed: make(chan struct{}, 100)}
		c.sender = watched
		result := make(chan error, 1)
		go func() { result <- e.ExportSpans(context.Background(), spans(1)) }()
		<-watched.failed
		srv.Restart(t)
		if err := <-result; err != nil {
			t.Error(err)
		}
		if n := srv.Count(otlptest.Traces); n != 2 {
			t.Errorf("%d spans", n)
		}
	})
}

// watchedSender tells of attempts that fail.
type watchedSender struct {
	sender
	failed chan struct{}
}

func (w *watchedSender) prepare(request proto.Message) (attempt, error) {
	send, err := w.sender.prepare(request)
	return func(ctx context.Context, response proto.Message) error {
		err := send(ctx, response)
		if err != nil {
			w.failed <- struct{}{}
		}
		return err
	}, err
}

// What cannot pass is tried once, and the error says what to change and nothing that
// the receiver wrote (C11).
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code   codes.Code
		status int
		grpc   []string
		http   []string
	}{
		{codes.Unauthenticated, 401, []string{"Unauthenticated", "OTEL_EXPORTER_OTLP_HEADERS"}, []string{"401 Unauthorized", "OTEL_EXPORTER_OTLP_HEADERS"}},
		{codes.PermissionDenied, 403, []string{"PermissionDenied", "credentials"}, []string{"403 Forbidden", "credentials"}},
		{codes.Unimplemented, 404, []string{"Unimplemented", "http/protobuf"}, []string{"404 Not Found", "/v1/traces"}},
		{codes.InvalidArgument, 400, []string{"InvalidArgument"}, []string{"400 Bad Request"}},
		{codes.Internal, 500, []string{"Internal"}, []string{"500 Internal Server Error"}},
		{codes.ResourceExhausted, 413, []string{"ResourceExhausted"}, []string{"413 ", "too large"}},
	} {
		for _, p := range protocols {
			srv := otlptest.Start(t)
			srv.SetFault(otlptest.Reject(tt.code, tt.status).WithBody("your token s3cr3t is bad"))
			o := plaintext(t, p, addrOf(srv, p))
			o.Headers = []settings.Header{{Key: "x-token", Value: "s3cr3t"}}
			err := newExporter(t, o).ExportSpans(t.Context(), spans(1))
			want := tt.http
			if p == settings.GRPC {
				want = tt.grpc
			}
			wantError(t, err, append(want, Describe(o))...)
			if n := len(srv.Requests()); n != 1 {
				t.Errorf("%v %d: %d tries", tt.code, tt.status, n)
			}
			var e *Error
			if !errors.As(err, &e) || e.Tries != 1 || p == settings.HTTPProtobuf && e.Status != tt.status || p == settings.GRPC && e.Code != tt.code {
				t.Errorf("%+v", e)
			}
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p settings.Protocol) {
		for _, srv := range []*otlptest.Server{otlptest.Start(t), otlptest.Start(t, otlptest.WithMaxRequestBytes(1000))} {
			srv.SetFault(otlptest.MaxRequestBytes(1000))
			e := newExporter(t, plaintext(t, p, addrOf(srv, p)))
			if err := e.ExportSpans(t.Context(), spans(100)); err != nil {
				t.Error(err)
			}
			if n := srv.Count(otlptest.Traces); n != 100 {
				t.Errorf("%d spans", n)
			}
			// One span cannot be divided.
			srv.SetFault(otlptest.MaxRequestBytes(10))
			err := e.ExportSpans(t.Context(), spans(1))
			wantError(t, err, "too large")
			var whole *Error
			if !errors.As(err, &whole) || !whole.TooLarge() {
				t.Errorf("not seen as too large: %v", err)
			}
			if st, ok := status.FromError(err); !ok || st.Code() != codes.ResourceExhausted || !strings.Contains(st.Message(), "too large") {
				t.Errorf("status %v", st)
			}
			err = e.ExportSpans(t.Context(), spans(3))
			wantError(t, err, "3 of 3 spans lost", "too large")
			if outcome.Lost(err, 3) != 3 || guard.TooLarge(err) {
				t.Errorf("%d lost, too large: %v: %v", outcome.Lost(err, 3), guard.TooLarge(err), err)
			}
		}
	})
}

// A batch above the usual limit goes in several requests, none of which is refused, and
// an item that no request can carry costs itself.
func TestSplitBySize(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p settings.Protocol) {
		srv := otlptest.Start(t, otlptest.WithMaxRequestBytes(4<<20))
		e := newExporter(t, plaintext(t, p, addrOf(srv, p)))
		list := spans(600)
		for i := range list {
			var attrs []attribute.KeyValue
			for k := range 10 { // more than one text may have
				attrs = append(attrs, attribute.String(fmt.Sprint(k), strings.Repeat("x", 1000)))
				if i == 77 {
					attrs = append(attrs, attribute.StringSlice(fmt.Sprint("large", k), slices.Repeat([]string{strings.Repeat("x", 1<<16)}, 10)))
				}
			}
			stub := tracetest.SpanStubFromReadOnlySpan(list[i])
			stub.Attributes = attrs
			list[i] = stub.Snapshot()
		}
		err := e.ExportSpans(t.Context(), list)
		wantError(t, err, `1 of 600 spans lost: span "span 77" takes`)
		if n := srv.Count(otlptest.Traces); n != 599 || outcome.Lost(err, 600) != 1 {
			t.Errorf("%d spans", n)
		}
		for _, r := range srv.Requests() {
			if r.Outcome != otlptest.Accepted {
				t.Errorf("a request of %d bytes: %s", r.Size, r.Outcome)
			}
		}
	})
}

// F4: redirects are not followed, with any status.
func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := otlptest.Start(t)
	for _, code := range []int{301, 302, 303, 307, 308} {
		srv := otlptest.Start(t)
		srv.SetFault(otlptest.Redirect(code, elsewhere.HTTPURL()+"/v1/traces?key=s3cr3t"))
		o := plaintext(t, settings.HTTPProtobuf, srv.HTTPURL())
		err := newExporter(t, o).ExportSpans(t.Context(), spans(1))
		wantError(t, err, "redirect to "+elsewhere.HTTPAddr(), "not followed", "OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	if n := len(elsewhere.Requests()); n > 0 {
		t.Errorf("%d requests arrived at the target of a redirect", n)
	}
}

// A page with status 200 is no delivery.
func TestWebPage(t *testing.T) {
	t.Parallel()
	kind, body := "text/html; charset=utf-8", "<html>s3cr3t"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}))
	defer srv.Close()
	e := newExporter(t, plaintext(t, settings.HTTPProtobuf, srv.URL))
	wantError(t, e.ExportSpans(t.Context(), spans(1)), "web page", "check the path")
	kind, body = "application/x-protobuf", "s3cr3t no protobuf"
	wantError(t, e.ExportSpans(t.Context(), spans(1)), "not OTLP")
	kind, body = "text/plain", "ok" // lenient receivers
	if err := e.ExportSpans(t.Context(), spans(1)); err != nil {
		t.Error(err)
	}
}

// Dead, silent and hanging receivers cost at most the time-out (C19, A1).
func TestNoReceiver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p settings.Protocol) {
		for name, addr := range map[string]string{
			"closed": otlptest.ClosedAddr(t), "silent": otlptest.SilentAddr(t), "blackhole": otlptest.Blackhole(t),
		} {
			o := plaintext(t, p, addr)
			o.Timeout = 500 * time.Millisecond
			start := time.Now()
			err := newExporter(t, o).ExportSpans(t.Context(), spans(1))
			if d := time.Since(start); d > 9*time.Second {
				t.Errorf("%s: %v", name, d)
			}
			wantError(t, err, Describe(o))
			if name == "closed" && !strings.Contains(err.Error(), "refused") {
				t.Errorf("%s: %v", name, err)
			}
			if name == "closed" && p == settings.HTTPProtobuf && runtime.GOOS != "windows" && !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: %v does not unwrap to the system's error", name, err)
			}
			if name != "closed" && (!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 500ms")) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// The caller's deadline and cancellation count too.
		o := plaintext(t, p, otlptest.SilentAddr(t))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		wantError(t, newExporter(t, o).ExportSpans(ctx, spans(1)), "the caller's deadline")
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		wantError(t, newExporter(t, o).ExportSpans(ctx, spans(1)), "cancelled")
	})
}

// A receiver that asks to be left alone is, by the next export too.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p settings.Protocol) {
		srv := otlptest.Start(t)
		srv.SetFault(otlptest.Throttle(time.Hour))
		o := plaintext(t, p, addrOf(srv, p))
		o.Timeout = 300 * time.Millisecond
		e := newExporter(t, o)
		wantError(t, e.ExportSpans(t.Context(), spans(1)), "asks to wait")
		wantError(t, e.ExportSpans(t.Context(), spans(1)), "asked to be left alone", "300ms")
		if n := len(srv.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
		c := e.(*TraceExporter).client
		if d := time.Until(c.heldUntil()); d > maxHold || d <= 0 {
			t.Errorf("held for %v", d)
		}
	})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "-1": 0, "x": 0, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// C3: a wrong TLS mode or protocol is explained at the first failure.
func TestMismatchIsExplained(t *testing.T) {
	t.Parallel()
	plain, secure := otlptest.Start(t), otlptest.Start(t, otlptest.WithTLS())
	for _, tt := range []struct {
		name     string
		p        settings.Protocol
		endpoint string
		want     []string
		atOnce   bool
	}{
		{"TLS to plaintext gRPC", settings.GRPC, "https://" + plain.GRPCAddr(), []string{"http:// at the beginning of VAR"}, true},
		{"TLS to plaintext HTTP", settings.HTTPProtobuf, "https://" + plain.HTTPAddr(), []string{"http:// at the beginning of VAR"}, true},
		{"plaintext to TLS gRPC", settings.GRPC, "http://" + secure.GRPCAddr(), []string{"https:// at the beginning of VAR"}, false},
		{"plaintext to TLS HTTP", settings.HTTPProtobuf, "http://" + secure.HTTPAddr(), []string{"https:// at the beginning of VAR"}, true},
		{"unknown authority gRPC", settings.GRPC, "https://" + secure.GRPCAddr(), []string{"x509", "OTEL_EXPORTER_OTLP_CERTIFICATE"}, true},
		{"unknown authority HTTP", settings.HTTPProtobuf, "https://" + secure.HTTPAddr(), []string{"x509", "OTEL_EXPORTER_OTLP_CERTIFICATE"}, true},
		{"gRPC to HTTP", settings.GRPC, "http://" + plain.HTTPAddr(), []string{"OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf"}, false},
		{"HTTP to gRPC", settings.HTTPProtobuf, "http://" + plain.GRPCAddr(), []string{"OTEL_EXPORTER_OTLP_PROTOCOL to grpc"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := plaintext(t, tt.p, tt.endpoint)
			o.Names.Endpoint = "VAR"
			o.Timeout = 2 * time.Second
			err := newExporter(t, o).ExportSpans(t.Context(), spans(1))
			wantError(t, err, tt.want...)
			var e *Error
			if !errors.As(err, &e) || tt.atOnce && e.Tries != 1 {
				t.Errorf("%v", err)
			}
		})
	}
}

// C21: a file that cannot be used is an error with the variable and the path, and
// trust does not fall back to the system's authorities.
func TestCertificateFiles(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t, otlptest.WithClientCert())
	cert, key := srv.ClientCertFiles()
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk.pem")
	if err := os.WriteFile(junk, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, p settings.Protocol) {
		o := plaintext(t, p, addrOf(srv, p))
		o.CertificateFile, o.ClientCertificateFile, o.ClientKeyFile = srv.CAFile(), cert, key
		if err := newExporter(t, o).ExportSpans(t.Context(), spans(1)); err != nil {
			t.Error(err)
		}
		o.ClientCertificateFile, o.ClientKeyFile = "", ""
		o.Timeout = time.Second
		wantError(t, newExporter(t, o).ExportSpans(t.Context(), spans(1)))
	})
	o := plaintext(t, settings.GRPC, "https://h:1")
	o.Names = settings.Names{Certificate: "CA_VAR", ClientCertificate: "CERT_VAR", ClientKey: "KEY_VAR"}
	for _, tt := range []struct {
		ca, cert, key string
		want          []string
	}{
		{filepath.Join(dir, "none"), "", "", []string{"CA_VAR", "none", "no such file"}},
		{dir, "", "", []string{"CA_VAR", "want a file"}},
		{junk, "", "", []string{"CA_VAR", "junk.pem", "PEM"}},
		{key, "", "", []string{"CA_VAR", "PEM"}},
		{"", cert, "", []string{"CERT_VAR", "KEY_VAR"}},
		{"", "", key, []string{"CERT_VAR", "KEY_VAR"}},
		{"", cert, filepath.Join(dir, "none"), []string{"KEY_VAR", "none"}},
		{"", junk, key, []string{"CERT_VAR", "junk.pem", "PEM"}},
		{"", key, cert, []string{"CERT_VAR", "KEY_VAR"}},
		{junk, junk, junk, []string{"CA_VAR", "CERT_VAR"}},
	} {
		o.CertificateFile, o.ClientCertificateFile, o.ClientKeyFile = tt.ca, tt.cert, tt.key
		_, err := NewTraceExporter(t.Context(), o, nil)
		wantError(t, err, tt.want...)
		_, err = NewMetricExporter(t.Context(), o, nil, nil, nil)
		wantError(t, err, tt.want...)
		_, err = NewLogExporter(t.Context(), o, nil)
		wantError(t, err, tt.want...)
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	dir, err := os.MkdirTemp("", "lens") // short enough for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "a b.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skipf("no unix sockets: %v", err)
	}
	defer func() { _ = l.Close() }()
	go forward(l, srv.GRPCAddr())
	o := plaintext(t, settings.GRPC, "unix://"+path)
	if err := newExporter(t, o).ExportSpans(t.Context(), spans(1)); err != nil {
		t.Error(err)
	}
	if srv.Count(otlptest.Traces) != 1 {
		t.Error("nothing arrived")
	}
}

// forward connects what l accepts to addr.
func forward(l net.Listener, addr string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", addr)
		if err != nil {
			_ = in.Close()
			return
		}
		go pipe(in, out)
		go pipe(out, in)
	}
}

func pipe(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	b := make([]byte, 1<<12)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// D7: a default transport that records, counts or panics is not used.
func TestDefaultTransportIsNotUsed(t *testing.T) {
	old := http.DefaultTransport
	defer func() { http.DefaultTransport = old }()
	http.DefaultTransport = panicking{}
	srv := otlptest.Start(t)
	if err := newExporter(t, plaintext(t, settings.HTTPProtobuf, srv.HTTPURL())).ExportSpans(t.Context(), spans(1)); err != nil {
		t.Error(err)
	}
}

type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) {
	panic("the default transport is used")
}

// C20: the proxy of the environment is honoured, and an error says so, without its
// password. net/http reads the variables once, hence a process of its own.
func TestProxyIsNamed(t *testing.T) {
	const address = "LENS_TEST_PROXY"
	if !inChild() {
		t.Parallel()
		proxy := otlptest.ClosedAddr(t)
		withPassword := "http://user:s3cr3t@" + proxy
		out := runInChild(t, address+"="+proxy, "HTTPS_PROXY="+withPassword, "HTTP_PROXY="+withPassword, "NO_PROXY=direct.invalid")
		if strings.Contains(out, "s3cr3t") {
			t.Error(out)
		}
		return
	}
	for _, p := range protocols {
		o := plaintext(t, p, "http://collector.invalid:4444")
		o.Timeout = time.Second
		err := newExporter(t, o).ExportSpans(t.Context(), spans(1))
		wantError(t, err, "through the proxy "+os.Getenv(address), "NO_PROXY")
		o = plaintext(t, p, "http://direct.invalid:4444")
		o.Timeout = 100 * time.Millisecond
		if err := newExporter(t, o).ExportSpans(t.Context(), spans(1)); err == nil || strings.Contains(err.Error(), "proxy") {
			t.Errorf("error is %v", err)
		}
	}
}
