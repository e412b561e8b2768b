package w3c

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const ids = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"

func TestExtract(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, header string
		valid        bool
		flags        trace.TraceFlags
	}{
		{"plain", "00-" + ids + "-01", true, 1},
		{"not sampled", "00-" + ids + "-00", true, 0},
		{"random", "00-" + ids + "-03", true, 3},
		{"unknown flags, sampled", "00-" + ids + "-ff", true, 3},
		{"unknown flags, not sampled", "00-" + ids + "-fc", true, 0},
		{"one unknown flag", "00-" + ids + "-05", true, 1},
		{"blanks around", " \t00-" + ids + "-01\r\n", true, 1},
		{"a later version", "cc-" + ids + "-01", true, 1},
		{"a later version with more fields", "cc-" + ids + "-01-what-comes", true, 1},
		{"a later version with unknown flags", "cc-" + ids + "-09", true, 1},
		{"version ff", "ff-" + ids + "-01", false, 0},
		{"version 00 with a dash at its end", "00-" + ids + "-01-", false, 0},
		{"version 00 with more fields", "00-" + ids + "-01-x", false, 0},
		{"upper case", "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01", false, 0},
		{"upper case flags", "00-" + ids + "-FF", false, 0},
		{"zero trace id", "00-00000000000000000000000000000000-b7ad6b7169203331-01", false, 0},
		{"zero span id", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false, 0},
		{"not hex flags", "00-" + ids + "-zz", false, 0},
		{"empty", "", false, 0},
	} {
		ctx := Extract(context.Background(), Map{traceparentKey: test.header})
		sc := trace.SpanContextFromContext(ctx)
		require.Equal(t, test.valid, sc.IsValid(), test.name)
		require.Equal(t, test.flags, sc.TraceFlags(), test.name)
		require.Equal(t, test.valid, sc.IsRemote(), test.name)
	}
}

func TestRoundTripWithTraceState(t *testing.T) {
	t.Parallel()
	in := Map{traceparentKey: "00-" + ids + "-01", tracestateKey: "vendor=1", baggageKey: "user=7"}
	out := Map{}
	Inject(Extract(context.Background(), in), out)
	require.Equal(t, in, out)
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-" + ids + "-ff")
	f.Add("cc-" + ids + "-01-x")
	f.Add("")
	f.Fuzz(func(t *testing.T, header string) {
		carrier := Map{traceparentKey: header}
		got := trace.SpanContextFromContext(ExtractTrace(context.Background(), carrier))
		strict := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier(carrier)))
		if strict.IsValid() && !got.Equal(strict) && !strings.HasSuffix(strings.TrimSpace(header), "-") {
			t.Fatalf("%q: %v, OpenTelemetry reads %v", header, got, strict)
		}
		if carrier[traceparentKey] != header {
			t.Fatal("the carrier was changed")
		}
	})
}
