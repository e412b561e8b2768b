//go:build !lens_noop

package lenshttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/record/errtype"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/web/httpbody"
	"github.com/nemo-lens/lens/internal/web/resend"
)

// call is one request of a transport, from its start to the end of its span.
type call struct {
	config  *config
	request *http.Request // the caller's
	sent    *http.Request // otelhttp's copy
	body    io.ReadCloser // the base's, whose optional interfaces otelhttp hides
	panics  panicRecorder // holds the span
	ended   atomic.Bool
	at      time.Time // of the response's head
}

// current returns the call whose span is the current one of ctx: the request
// is a part of it. A span started since, in a handler that is called without
// a network for example, makes it a request of its own.
func current(ctx context.Context) *call {
	c, _ := resend.From(ctx).(*call)
	if c == nil || !c.panics.Span.SpanContext().Equal(trace.SpanContextFromContext(ctx)) {
		return nil
	}
	return c
}

// Resent records on the span that the request is sent once more, if it is still
// the current span of ctx.
func (c *call) Resent(ctx context.Context, n int, res *http.Response, err error) {
	if current(ctx) != c {
		return
	}
	attrs := []attribute.KeyValue{semconv.HTTPRequestResendCount(n)}
	if err != nil {
		attrs = append(attrs, semconv.ErrorTypeKey.String(errorType(err)))
	} else if res != nil {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(res.StatusCode))
	}
	c.panics.Span.AddEvent("resend", trace.WithAttributes(attrs...))
	c.panics.Span.SetAttributes(attrs[0])
}

func (c *call) answered(res *http.Response) {
	c.at = time.Now()
	if c.config.errorStatus(res.StatusCode) {
		c.panics.Span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(res.StatusCode)))
		c.panics.Span.SetStatus(codes.Error, "")
	}
}

// end ends the span, once. A cancelled request is not an error.
func (c *call) end(err error, opts ...trace.SpanEndOption) {
	if !c.ended.CompareAndSwap(false, true) {
		return
	}
	span := c.panics.Span
	if err != nil && !errors.Is(err, io.EOF) && !errtype.Canceled(err) &&
		!errors.Is(c.request.Context().Err(), context.Canceled) {
		text := errorText(err, c.request.URL)
		span.AddEvent("exception", trace.WithAttributes(
			semconv.ExceptionType(errorType(err)), semconv.ExceptionMessage(text)))
		span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
		span.SetStatus(codes.Error, text)
	}
	span.End(opts...)
}

// errorType is the type of an error without the wrapping of http.Client.
func errorType(err error) string {
	for {
		outer, ok := err.(*url.Error)
		if !ok || outer.Err == nil {
			return errtype.Of(err)
		}
		err = outer.Err
	}
}

// watch returns a body that ends the span.
func (c *call) watch(inner io.ReadCloser) io.ReadCloser {
	b := &body{ReadCloser: inner, call: c}
	// A body that is dropped unread and not closed ends the span when the
	// context ends, and at the latest when it is collected.
	b.stop = context.AfterFunc(c.request.Context(), func() { c.end(c.request.Context().Err()) })
	b.cleanup = runtime.AddCleanup(b, (*call).abandoned, c)
	return httpbody.Like(inner, b)
}

func (c *call) abandoned() {
	c.panics.Span.AddEvent("response body not closed")
	c.end(nil, trace.WithTimestamp(c.at))
}

type body struct {
	io.ReadCloser
	call    *call
	stop    func() bool
	cleanup runtime.Cleanup
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end(err)
	}
	return n, err
}

func (b *body) Close() error {
	b.end(nil) // before, because a close may take as long as the peer likes
	return b.ReadCloser.Close()
}

func (b *body) end(err error) {
	b.stop()
	b.cleanup.Stop()
	b.call.end(err)
}

type clientTracer struct{ trace.Tracer }

func (t clientTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, span := t.Tracer.Start(ctx, name, opts...)
	if c, _ := resend.From(ctx).(*call); c != nil {
		c.panics.Span = span
		if f := c.config.attributes; f != nil {
			span.SetAttributes(f(c.request)...)
		}
	}
	return ctx, clientSpan{span}
}

// clientSpan is what otelhttp has in its hands: attributes pass without what
// is private in them; status and end are the call's.
type clientSpan struct{ trace.Span }

func (s clientSpan) SetStatus(codes.Code, string) {}
func (s clientSpan) End(...trace.SpanEndOption)   {}

func (s clientSpan) SetAttributes(attrs ...attribute.KeyValue) {
	kept := make([]attribute.KeyValue, 0, len(attrs))
	for _, kv := range attrs {
		switch kv.Key {
		case semconv.ErrorTypeKey:
			continue
		case semconv.URLFullKey:
			kv.Value = attribute.StringValue(report.CleanURL(kv.Value.AsString()))
		case semconv.ServerAddressKey:
			host := kv.Value.AsString()
			kv.Value = attribute.StringValue(host[strings.LastIndexByte(host, '@')+1:])
		}
		kept = append(kept, kv)
	}
	s.Span.SetAttributes(kept...)
}
