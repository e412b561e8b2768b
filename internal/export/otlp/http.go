package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

const (
	protobufType = "application/x-protobuf"

	// maxAnswer is how much of an answer is read.
	maxAnswer = 4 << 20
)

type httpSender struct {
	settings  settings.OTLP
	header    http.Header
	url       *url.URL
	transport *http.Transport
}

func newHTTP(o settings.OTLP, config *tls.Config) (*httpSender, error) {
	u, err := o.URL()
	if err != nil {
		return nil, err
	}
	s := &httpSender{settings: o, url: u, header: http.Header{}}
	s.header.Set("User-Agent", userAgent())
	for _, h := range o.Headers {
		s.header.Set(h.Key, h.Value)
	}
	s.header.Set("Content-Type", protobufType)
	if o.Compression == settings.Gzip {
		s.header.Set("Content-Encoding", "gzip")
	}
	// One of our own: http.DefaultTransport may have been replaced by one that
	// records a span for each request.
	s.transport = &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     config,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // of answers, which are tiny
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	return s, nil
}

func (s *httpSender) close() { s.transport.CloseIdleConnections() }

func (s *httpSender) prepare(request proto.Message) (attempt, error) {
	body, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	if s.settings.Compression == settings.Gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(body); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		body = b.Bytes()
	}
	return func(ctx context.Context, response proto.Message) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.String(), bytes.NewReader(body))
		if err != nil {
			return &failure{text: err.Error()}
		}
		r.Header = s.header.Clone()
		// Without a client: it would read the Location of a redirect, and quote it.
		answer, err := s.transport.RoundTrip(r)
		if err != nil {
			return s.noAnswer(ctx, err)
		}
		defer func() { _ = answer.Body.Close() }()
		data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
		if answer.StatusCode/100 != 2 {
			return s.refusal(answer, data)
		}
		if err != nil {
			// The receiver took it, and whether it rejected some is not known.
			return s.noAnswer(ctx, err)
		}
		return s.success(answer, data, response)
	}, nil
}

func (s *httpSender) success(answer *http.Response, data []byte, response proto.Message) error {
	switch kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind {
	case protobufType:
		if proto.Unmarshal(data, response) != nil {
			return &failure{status: answer.StatusCode, text: statusText(answer.StatusCode) + " with an answer that is not OTLP", hint: hintPath(s.settings)}
		}
	case "text/html":
		// A log-in page or a start page: whoever sent it did not take the data.
		return &failure{status: answer.StatusCode, text: statusText(answer.StatusCode) + " with a web page, which is no OTLP receiver's answer", hint: hintPath(s.settings)}
	}
	return nil
}

// statusText is not the server's own wording.
func statusText(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// refusal describes an answer that is not a success.
func (s *httpSender) refusal(answer *http.Response, body []byte) *failure {
	code := answer.StatusCode
	f := &failure{status: code, text: statusText(code), code: codes.Unknown}
	switch {
	case code/100 == 3:
		f.text += ", a redirect" + redirectTarget(answer) + ", which is not followed, as it would take headers and data elsewhere"
		f.hint = "set " + s.settings.Names.Endpoint + " to the receiver itself"
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		f.code, f.hint = codes.Unauthenticated, hintHeaders(s.settings)
		if code == http.StatusForbidden {
			f.code = codes.PermissionDenied
		}
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		f.code, f.hint = codes.Unimplemented, hintPath(s.settings)
		if s.settings.Signal != settings.Traces {
			// Many receivers of spans take nothing else.
			f.hint = hintSignal(s.settings) + "; otherwise " + f.hint
		}
	case code == http.StatusUnsupportedMediaType:
		f.code, f.hint = codes.Unimplemented, hintProtocol(s.settings)
	case code == http.StatusRequestEntityTooLarge:
		f.code, f.tooLarge = codes.ResourceExhausted, true
	case code == http.StatusBadRequest:
		f.code = codes.InvalidArgument
		if s.settings.Insecure && bytes.Contains(body, []byte("HTTPS")) {
			f.hint = hintTLSServer(s.settings)
		} else {
			f.tooLarge = guard.SaysTooLarge(string(body))
		}
	case code == http.StatusTooManyRequests, code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		f.code, f.retry = codes.Unavailable, true
		f.after = retryAfter(answer.Header.Get("Retry-After"), time.Now())
	}
	if f.tooLarge {
		f.text += ": the request is too large for the receiver"
	}
	return f
}

// redirectTarget names the host of a redirect, if it is plainly one.
func redirectTarget(answer *http.Response) string {
	u, err := answer.Location()
	if err != nil || len(u.Host) > 253 || strings.Trim(u.Host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") != "" {
		return ""
	}
	return " to " + u.Host
}

// retryAfter reads seconds or a date; 0 for anything else.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// noAnswer describes an error of the connection.
func (s *httpSender) noAnswer(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return &failure{} // said by the caller, who knows why
	}
	f := &failure{code: codes.Unavailable, text: report.ErrorText(err), retry: true, cause: err}
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate):
		f.hint, f.retry = hintCertificate(s.settings), false
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		f.text = "the receiver answered without TLS"
		f.hint, f.retry = hintPlaintextServer(s.settings), false
	case strings.Contains(f.text, "malformed HTTP"):
		f.text = "the answer is not HTTP"
		f.hint, f.retry = hintProtocol(s.settings), false
	case strings.Contains(f.text, "tls: "):
		f.hint, f.retry = hintClientCertificate(s.settings, f.text), false
		f.text = fmt.Sprintf("the TLS handshake failed: %s", f.text)
	}
	return f
}
