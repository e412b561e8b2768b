//go:build !lens_noop

package lenshttp_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/lenstest"
)

const (
	w3cTrace  = "12345678901234567890123456789012"
	w3cParent = "1234567890123456"
	w3cIDs    = w3cTrace + "-" + w3cParent
)

// exchangeHeaders sends a request with exactly these header lines to a server of
// ours, which calls another one, and returns the headers that the latter got
// and the server span, which is nil when it was not sampled.
func exchangeHeaders(t *testing.T, opts []lenshttp.Option, lines ...string) (http.Header, sdktrace.ReadOnlySpan) {
	t.Helper()
	rec := lenstest.Start(t, server, client)
	var got atomic.Pointer[http.Header]
	last, stopLast := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got.Store(&r.Header) }), false)
	c := &http.Client{Transport: lenshttp.NewTransport(last.Client().Transport, client, opts...)}
	first, stop := start(t, lenshttp.NewHandler(forward(c, last.URL), server, opts...), false)

	conn, err := net.Dial("tcp", first.Listener.Addr().String())
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "GET /run HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s\r\n", strings.Join(append(lines, ""), "\r\n"))
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	require.NoError(t, res.Body.Close())
	require.NoError(t, conn.Close())
	stop()
	stopLast()
	require.NotNil(t, got.Load())
	if spans := rec.Named("GET /run"); len(spans) == 1 {
		return *got.Load(), spans[0]
	}
	return *got.Load(), nil
}

// The cases of the test suite of W3C Trace Context, levels 1 and 2, at its
// strictest. What the suite sends as a whole header is a line here.
func TestW3CTraceparent(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags string // of the trace that goes on; "" is a new trace
		lines []string
	}{
		{"both missing", "", nil},
		{"traceparent alone", "01", []string{"traceparent: 00-" + w3cIDs + "-01"}},
		{"not sampled goes on as such", "00", []string{"traceparent: 00-" + w3cIDs + "-00"}},
		{"header name with dash", "", []string{"trace-parent: 00-" + w3cIDs + "-01"}},
		{"header name with dot", "", []string{"trace.parent: 00-" + w3cIDs + "-01"}},
		{"header name TraceParent", "01", []string{"TraceParent: 00-" + w3cIDs + "-01"}},
		{"header name TrAcEpArEnT", "01", []string{"TrAcEpArEnT: 00-" + w3cIDs + "-01"}},
		{"header name TRACEPARENT", "01", []string{"TRACEPARENT: 00-" + w3cIDs + "-01"}},
		{"two headers", "", []string{"traceparent: 00-" + w3cIDs + "-01", "traceparent: 00-12345678901234567890123456789011-" + w3cParent + "-01"}},
		{"two equal headers", "", []string{"traceparent: 00-" + w3cIDs + "-01", "Traceparent: 00-" + w3cIDs + "-01"}},
		{"two in one header", "", []string{"traceparent: 00-" + w3cIDs + "-01,00-" + w3cIDs + "-01"}},
		{"empty", "", []string{"traceparent: "}},
		{"version 00 with a dot at its end", "", []string{"traceparent: 00-" + w3cIDs + "-01."}},
		{"version 00 with more fields", "", []string{"traceparent: 00-" + w3cIDs + "-01-what-the-future-will-be-like"}},
		{"version 00 with a dash at its end", "", []string{"traceparent: 00-" + w3cIDs + "-01-"}},
		{"version cc", "01", []string{"traceparent: cc-" + w3cIDs + "-01"}},
		{"version cc with more fields", "01", []string{"traceparent: cc-" + w3cIDs + "-01-what-the-future-will-be-like"}},
		{"version cc with what is no field", "", []string{"traceparent: cc-" + w3cIDs + "-01.what-the-future-will-be-like"}},
		{"version ff", "", []string{"traceparent: ff-" + w3cIDs + "-01"}},
		{"version .0", "", []string{"traceparent: .0-" + w3cIDs + "-01"}},
		{"version 0.", "", []string{"traceparent: 0.-" + w3cIDs + "-01"}},
		{"version CC", "", []string{"traceparent: CC-" + w3cIDs + "-01"}},
		{"version 000", "", []string{"traceparent: 000-" + w3cIDs + "-01"}},
		{"version 0000", "", []string{"traceparent: 0000-" + w3cIDs + "-01"}},
		{"version 0", "", []string{"traceparent: 0-" + w3cIDs + "-01"}},
		{"trace id of zeros", "", []string{"traceparent: 00-00000000000000000000000000000000-" + w3cParent + "-01"}},
		{"trace id beginning illegally", "", []string{"traceparent: 00-.2345678901234567890123456789012-" + w3cParent + "-01"}},
		{"trace id ending illegally", "", []string{"traceparent: 00-1234567890123456789012345678901.-" + w3cParent + "-01"}},
		{"trace id in upper case", "", []string{"traceparent: 00-ABCDEF78901234567890123456789012-" + w3cParent + "-01"}},
		{"trace id too long", "", []string{"traceparent: 00-" + w3cTrace + "3-" + w3cParent + "-01"}},
		{"trace id too short", "", []string{"traceparent: 00-" + w3cTrace[1:] + "-" + w3cParent + "-01"}},
		{"parent id of zeros", "", []string{"traceparent: 00-" + w3cTrace + "-0000000000000000-01"}},
		{"parent id beginning illegally", "", []string{"traceparent: 00-" + w3cTrace + "-.234567890123456-01"}},
		{"parent id ending illegally", "", []string{"traceparent: 00-" + w3cTrace + "-123456789012345.-01"}},
		{"parent id too long", "", []string{"traceparent: 00-" + w3cIDs + "7-01"}},
		{"parent id too short", "", []string{"traceparent: 00-" + w3cIDs[:len(w3cIDs)-1] + "-01"}},
		{"flags .0", "", []string{"traceparent: 00-" + w3cIDs + "-.0"}},
		{"flags 0.", "", []string{"traceparent: 00-" + w3cIDs + "-0."}},
		{"flags 001", "", []string{"traceparent: 00-" + w3cIDs + "-001"}},
		{"flags 1", "", []string{"traceparent: 00-" + w3cIDs + "-1"}},
		{"level 2: random trace id", "03", []string{"traceparent: 00-" + w3cIDs + "-03"}},
		{"level 2: random trace id, not sampled", "02", []string{"traceparent: 00-" + w3cIDs + "-02"}},
		{"unknown flags", "01", []string{"traceparent: 00-" + w3cIDs + "-09"}},
		{"all flags", "03", []string{"traceparent: 00-" + w3cIDs + "-ff"}},
		{"space before", "01", []string{"traceparent:  00-" + w3cIDs + "-01"}},
		{"tab before", "01", []string{"traceparent: \t00-" + w3cIDs + "-01"}},
		{"space after", "01", []string{"traceparent: 00-" + w3cIDs + "-01 "}},
		{"tab after", "01", []string{"traceparent: 00-" + w3cIDs + "-01\t"}},
		{"blanks around", "01", []string{"traceparent: \t 00-" + w3cIDs + "-01 \t"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent, span := exchangeHeaders(t, nil, c.lines...)
			require.Len(t, sent.Values("Traceparent"), 1)
			out := strings.Split(sent.Get("Traceparent"), "-")
			require.Len(t, out, 4)
			require.Equal(t, "00", out[0])
			require.NotEqual(t, w3cParent, out[2])
			if span == nil {
				require.Contains(t, []string{"00", "02"}, c.flags)
				require.Equal(t, []string{"00", w3cTrace, out[2], c.flags}, out)
				return
			}
			require.Equal(t, span.SpanContext().TraceID().String(), out[1])
			if c.flags == "" {
				require.False(t, span.Parent().IsValid())
				require.NotEqual(t, w3cTrace, out[1])
				return
			}
			require.Equal(t, w3cTrace, out[1])
			require.Equal(t, w3cParent, span.Parent().SpanID().String())
			require.True(t, span.Parent().IsRemote())
			require.Equal(t, c.flags, span.Parent().TraceFlags().String())
			require.Equal(t, c.flags, out[3])
		})
	}
}

func TestW3CTracestate(t *testing.T) {
	const lower, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	key := lower + digits + "_-*/"
	var value strings.Builder
	for c := byte(0x20); c <= 0x7e; c++ {
		if c != ',' && c != '=' {
			value.WriteByte(c)
		}
	}
	members := func(from, to int) string {
		var list []string
		for i := from; i <= to; i++ {
			list = append(list, fmt.Sprintf("bar%02d=%02d", i, i))
		}
		return strings.Join(list, ",")
	}
	long := "foo=" + strings.Repeat("v", 250) + ",bar=" + strings.Repeat("w", 250) + ",baz=" + strings.Repeat("x", 256)
	for _, c := range []struct {
		name, want string
		lines      []string
	}{
		{"none", "", nil},
		{"two members", "foo=1,bar=2", []string{"foo=1,bar=2"}},
		{"empty", "", []string{""}},
		{"empty after", "foo=1", []string{"foo=1", ""}},
		{"empty before", "foo=1", []string{"", "foo=1"}},
		{"several headers in order", "foo=1,bar=2,rojo=1,congo=2,baz=3", []string{"foo=1,bar=2", "rojo=1,congo=2", "baz=3"}},
		{"empty members", "foo=1,bar=2", []string{",foo=1,,bar=2, \t ,"}},
		{"duplicate", "", []string{"foo=1,foo=1"}},
		{"duplicate with another value", "", []string{"foo=1,foo=2"}},
		{"duplicate in two headers", "", []string{"foo=1", "foo=1"}},
		{"duplicate in two headers with another value", "", []string{"foo=1", "foo=2"}},
		{"all characters", key + "=" + value.String(), []string{key + "=" + value.String()}},
		{"all characters of a tenant", key + "@a-z0-9_-*/=" + value.String(), []string{key + "@a-z0-9_-*/=" + value.String()}},
		{"a tenant that begins with a digit", "0t@v=1", []string{"0t@v=1"}},
		{"blanks between members", "foo=1,bar=2,baz=3", []string{"foo=1 \t , \t bar=2, \t baz=3"}},
		{"tabs between members", "foo=1,bar=2,baz=3", []string{"foo=1\t \t,\t \tbar=2,\t \tbaz=3"}},
		{"blanks around", "foo=1", []string{"\t foo=1 \t"}},
		{"a blank in a value", "foo=a b", []string{"foo=a b"}},
		{"a blank in a key", "", []string{"foo =1"}},
		{"an upper-case key", "", []string{"FOO=1"}},
		{"a dot in a key", "", []string{"foo.bar=1"}},
		{"no system", "", []string{"foo@=1,bar=2"}},
		{"no tenant", "", []string{"@foo=1,bar=2"}},
		{"two at signs", "", []string{"foo@@bar=1,bar=2"}},
		{"three parts", "", []string{"foo@bar@baz=1,bar=2"}},
		{"no value", "", []string{"foo=,bar=3"}},
		{"no equals sign", "", []string{"foo,bar=3"}},
		{"two equals signs", "", []string{"foo=bar=baz"}},
		{"32 members", members(1, 32), []string{members(1, 10), members(11, 20), members(21, 30), members(31, 32)}},
		{"33 members", "", []string{members(1, 10), members(11, 20), members(21, 30), members(31, 33)}},
		{"a key of 256", "foo=1," + strings.Repeat("z", 256) + "=1", []string{"foo=1", strings.Repeat("z", 256) + "=1"}},
		{"a key of 257", "", []string{"foo=1", strings.Repeat("z", 257) + "=1"}},
		{"a tenant of 241 and a system of 14", "foo=1," + strings.Repeat("t", 241) + "@" + strings.Repeat("v", 14) + "=1",
			[]string{"foo=1", strings.Repeat("t", 241) + "@" + strings.Repeat("v", 14) + "=1"}},
		{"a tenant of 242", "", []string{"foo=1", strings.Repeat("t", 242) + "@v=1"}},
		{"a system of 15", "", []string{"foo=1", "t@" + strings.Repeat("v", 15) + "=1"}},
		{"a value of 257", "", []string{"foo=1,bar=" + strings.Repeat("v", 257)}},
		{"more than 512 characters", long, []string{long}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := []string{"traceparent: 00-" + w3cIDs + "-01"}
			for _, l := range c.lines {
				lines = append(lines, "TraceState: "+l)
			}
			sent, span := exchangeHeaders(t, nil, lines...)
			require.Equal(t, w3cTrace, span.SpanContext().TraceID().String(), "the trace goes on whatever its state")
			require.Equal(t, c.want, span.Parent().TraceState().String())
			require.Equal(t, c.want, strings.Join(sent.Values("Tracestate"), ";"))
		})
	}
	for name, lines := range map[string][]string{
		"without a traceparent":    {"tracestate: foo=1,bar=2"},
		"with a bad traceparent":   {"traceparent: 00-" + w3cIDs + "-1", "tracestate: foo=1"},
		"with two of them":         {"traceparent: 00-" + w3cIDs + "-01", "traceparent: 00-" + w3cIDs + "-01", "tracestate: foo=1"},
		"under a wrong name":       {"traceparent: 00-" + w3cIDs + "-01", "trace-state: foo=1"},
		"under another wrong name": {"traceparent: 00-" + w3cIDs + "-01", "trace.state: foo=1"},
	} {
		t.Run(name, func(t *testing.T) {
			sent, _ := exchangeHeaders(t, nil, lines...)
			require.Empty(t, sent.Values("Tracestate"))
		})
	}
}

func TestFieldD8ManyValuedHeaders(t *testing.T) {
	one := "traceparent: 00-" + w3cIDs + "-01"
	// What a propagator of the program's own makes of two values is not left to it.
	for name, opts := range map[string][]lenshttp.Option{
		"ours":  nil,
		"plain": {lenshttp.WithPropagators(propagation.TraceContext{})},
	} {
		t.Run(name+", one", func(t *testing.T) {
			_, span := exchangeHeaders(t, opts, one)
			require.True(t, span.Parent().IsValid())
		})
		t.Run(name+", two", func(t *testing.T) {
			_, span := exchangeHeaders(t, opts, one, one)
			require.False(t, span.Parent().IsValid())
		})
	}
	t.Run("lists", func(t *testing.T) {
		sent, span := exchangeHeaders(t, nil, one, "tracestate: a=1", "tracestate: b=2", "baggage: x=1", "baggage: y=2")
		require.Equal(t, "a=1,b=2", span.Parent().TraceState().String())
		require.Equal(t, "a=1,b=2", sent.Get("Tracestate"))
		require.ElementsMatch(t, []string{"x=1", "y=2"}, strings.Split(sent.Get("Baggage"), ","))
	})
}
