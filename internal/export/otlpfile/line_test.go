package otlpfile

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

var (
	traceID = []byte("0123456789abcdef")
	spanID  = []byte{1, 2, 3, 4, 5, 6, 7, 255}
)

func TestALineIsOTLPJSON(t *testing.T) {
	for name, c := range map[string]struct {
		message proto.Message
		want    string
	}{
		"spans": {&traces.TracesData{ResourceSpans: []*traces.ResourceSpans{{ScopeSpans: []*traces.ScopeSpans{{Spans: []*traces.Span{{
			TraceId: traceID, SpanId: spanID, ParentSpanId: spanID, Name: `traceId":"x`, Kind: traces.Span_SPAN_KIND_SERVER, StartTimeUnixNano: 1 << 60,
			Attributes: []*common.KeyValue{{Key: "traceId", Value: text("AQID")}, {Key: "b", Value: &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte{1, 2, 3}}}}},
			Links:      []*traces.Span_Link{{TraceId: traceID, SpanId: spanID}},
			Status:     &traces.Status{Code: traces.Status_STATUS_CODE_ERROR, Message: `a "quoted" \ text`},
		}}}}}}},
			`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"30313233343536373839616263646566","spanId":"01020304050607ff","parentSpanId":"01020304050607ff",` +
				`"name":"traceId\":\"x","kind":2,"startTimeUnixNano":"1152921504606846976","attributes":[{"key":"traceId","value":{"stringValue":"AQID"}},{"key":"b","value":{"bytesValue":"AQID"}}],` +
				`"links":[{"traceId":"30313233343536373839616263646566","spanId":"01020304050607ff"}],"status":{"message":"a \"quoted\" \\ text","code":2}}]}]}]}`},
		"a log record": {&logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{ScopeLogs: []*logs.ScopeLogs{{LogRecords: []*logs.LogRecord{{
			TraceId: traceID, SpanId: spanID, SeverityNumber: logs.SeverityNumber_SEVERITY_NUMBER_WARN, Body: text("a: b, c"),
		}}}}}}}, `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"severityNumber":13,"body":{"stringValue":"a: b, c"},"traceId":"30313233343536373839616263646566","spanId":"01020304050607ff"}]}]}]}`},
		"an exemplar": {&metrics.Gauge{DataPoints: []*metrics.NumberDataPoint{{Exemplars: []*metrics.Exemplar{{TraceId: traceID, SpanId: spanID}}}}},
			`{"dataPoints":[{"exemplars":[{"spanId":"01020304050607ff","traceId":"30313233343536373839616263646566"}]}]}`},
		"nothing": {&traces.TracesData{}, `{}`},
	} {
		got, err := appendLine(nil, c.message)
		if err != nil || string(got) != c.want+"\n" {
			t.Errorf("%s: %v\n%swant\n%s", name, err, got, c.want)
		}
	}
}

// FuzzIDs holds that a line says what protojson says, but for the ids.
func FuzzIDs(f *testing.F) {
	f.Add("name", `"traceId": "x"`, []byte("0123456789abcdef"), []byte("01234567"))
	f.Add(`\`, "\u2028\x00é", []byte{}, []byte{0})
	f.Fuzz(func(t *testing.T, name, value string, trace, span []byte) {
		name, value = string([]rune(name)), string([]rune(value)) // the translation repairs what is no UTF-8
		m := &traces.Span{Name: name, TraceId: trace[:min(len(trace), 16)], SpanId: span[:min(len(span), 8)],
			Attributes: []*common.KeyValue{{Key: value, Value: text(name)}, {Key: name, Value: text(value)}}}
		line, err := appendLine(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("more than a line: %q", line)
		}
		plain, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"traceId", "spanId"} {
			if b64, ok := want[id].(string); ok {
				raw, err := base64.StdEncoding.DecodeString(b64)
				if err != nil {
					t.Fatal(err)
				}
				want[id] = hex.EncodeToString(raw)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
