package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
)

func TestProtocolVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Protocol struct {
			Cases []struct {
				Env       map[string]string
				Resolved  map[Signal]string
				Transport map[Signal]string
			}
		} `json:"otlp_protocol_v020"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Protocol.Cases) < 9 {
		t.Fatalf("only %d cases", len(vectors.Protocol.Cases))
	}
	for _, c := range vectors.Protocol.Cases {
		for _, s := range []Signal{Traces, Metrics, Logs} {
			// The reference ignores the variables for logs; here they follow them as
			// the other signals do.
			want := GRPC
			if r := c.Resolved[s]; r == "http/protobuf" || r == "http/json" {
				want = HTTPProtobuf
			}
			if s != Logs && (c.Transport[s] == "http") != (want == HTTPProtobuf) {
				t.Fatalf("the vectors contradict themselves: %+v", c)
			}
			// Blank is unset here, where the reference takes it for a word.
			if text, ok := c.Env[s.variables("PROTOCOL")[0]]; ok && strings.TrimSpace(text) == "" {
				want = HTTPProtobuf
			}
			o, warnings, err := ParseOTLP(s, nil, env(c.Env))
			if err != nil || o.Protocol != want {
				t.Errorf("%v %s: got %s, error %v; want %s", c.Env, s, o.Protocol, err, want)
			}
			switch c.Resolved[s] {
			case "http", "bogus":
				wantWarning(t, warnings, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc, http/protobuf or http/json", "using grpc")
			case "http/json":
				wantWarning(t, warnings, "OTEL_EXPORTER_OTLP_PROTOCOL", "protobuf")
			default:
				wantWarning(t, warnings)
			}
		}
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "none": "", "gzip": Gzip, "GZIP": Gzip, "zstd": "", "deflate": ""} {
		o, warnings, err := ParseOTLP(Traces, nil, env(map[string]string{"OTEL_EXPORTER_OTLP_COMPRESSION": text}))
		if err != nil || o.Compression != want {
			t.Errorf("%q: got %q, error %v", text, o.Compression, err)
		}
		if text == "zstd" || text == "deflate" {
			wantWarning(t, warnings, "OTEL_EXPORTER_OTLP_COMPRESSION", text, "gzip or none")
		} else {
			wantWarning(t, warnings)
		}
	}
}

// C19: a time-out is never zero, less or for ever.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		want   time.Duration
		warned bool
	}{
		{"", DefaultTimeout, false}, {"2500", 2500 * time.Millisecond, false}, {"+5", 5 * time.Millisecond, false},
		{"0", DefaultTimeout, true}, {"-1", DefaultTimeout, true}, {"10s", DefaultTimeout, true}, {"1e3", DefaultTimeout, true},
		{"1.5", DefaultTimeout, true}, {"٣", DefaultTimeout, true}, {"1_000", DefaultTimeout, true},
		{"600000", MaxTimeout, false}, {"600001", MaxTimeout, true},
		{"99999999999999999999999", MaxTimeout, true}, {"-99999999999999999999999", DefaultTimeout, true},
		{"9223372036854775807", MaxTimeout, true},
	} {
		o, warnings, err := ParseOTLP(Traces, nil, env(map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": tt.text}))
		if err != nil || o.Timeout != tt.want {
			t.Errorf("%q: got %v, error %v; want %v", tt.text, o.Timeout, err, tt.want)
		}
		if tt.warned {
			wantWarning(t, warnings, "OTEL_EXPORTER_OTLP_TIMEOUT", "milliseconds")
		} else {
			wantWarning(t, warnings)
		}
	}
}

// C12: the exact value, or a warning with the key only.
func TestHeaders(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	for _, tt := range []struct {
		text     string
		want     string // key:value|key:value
		warnings int
		names    string // in the warning
	}{
		{"a=1", "a:1", 0, ""},
		{" a = 1 , b = 2 ", "a:1|b:2", 0, ""},
		{"a=1,", "a:1", 0, ""},
		{"a=", "a:", 0, ""},
		{"a==x==", "a:=x==", 0, ""},
		{"a=x+y", "a:x+y", 0, ""},
		{"a=x%2By%20z%2Cq%3D%25", "a:x+y z,q=%", 0, ""},
		{"Authorization=Bearer s3cr3t", "Authorization:Bearer s3cr3t", 0, ""},
		{"authorization=Basic%20czNjcjN0==", "authorization:Basic czNjcjN0==", 0, ""},
		{"a=s3cr3t\n", "a:s3cr3t", 0, ""},
		{`"a=1,b=2"`, `a:1|b:2`, 0, ""},
		{"a=1,A=2,b=3", "A:2|b:3", 0, ""},
		{"a=%20x", "a: x", 0, ""},
		{"key-bin=%01", "key-bin:\x01", 0, ""},

		{"a=100%", "a:100%", 1, `"a"`},
		{"a=s3cr3t%zz%41", "a:s3cr3t%zzA", 1, `"a"`},
		{"Authorization: Bearer s3cr3t", "", 1, "item 1 of 1"},
		{"Authorization: Bearer s3cr3t=", "", 1, "item 1 of 1"},
		{"a=s3cr3t,s3cr3t", "a:s3cr3t", 1, "item 2 of 2"},
		{"a=1,,b=2", "a:1|b:2", 1, "item 2 of 3"},
		{"=s3cr3t", "", 1, "item 1 of 1"},
		{"a b=s3cr3t", "", 1, "item 1 of 1"},
		{"ä=s3cr3t", "", 1, "item 1 of 1"},
		{"a!=s3cr3t", "", 1, "item 1 of 1"},
		{"a=s3cr3t%0A", "", 1, `"a"`},
		{"a=s3cr3t\x01x", "", 1, `"a"`},
		{"a=s3cr3tä", "", 1, `"a"`},
		{"grpc-timeout=s3cr3t", "", 1, `"grpc-timeout"`},
		{"Content-Type=s3cr3t", "", 1, `"Content-Type"`},
		{"a=1,s3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3t=%", "a:1|s3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3t:%", 1, "item 2 of 2"},
	} {
		o, warnings, err := ParseOTLP(Traces, nil, env(map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": tt.text}))
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
		}
		var got []string
		for _, h := range o.Headers {
			got = append(got, h.Key+":"+h.Value)
		}
		if s := strings.Join(got, "|"); s != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, s, tt.want)
		}
		if len(warnings) != tt.warnings {
			t.Errorf("%q: warnings %q, want %d", tt.text, warnings, tt.warnings)
		}
		for _, w := range warnings {
			if strings.Contains(string(w), secret) {
				t.Errorf("%q: the secret is in %q", tt.text, w)
			}
		}
		if tt.names != "" {
			wantWarning(t, warnings, "OTEL_EXPORTER_OTLP_HEADERS", tt.names)
		}
	}
	// HTTP carries more than gRPC.
	for text, want := range map[string]string{"a!=x": "x", "a=ä": "ä", "a=x\ty": "x\ty"} {
		headers, warnings := ParseHeaders("V", text, HTTPProtobuf)
		if len(headers) != 1 || headers[0].Value != want || len(warnings) > 0 {
			t.Errorf("%q: got %d, warnings %q", text, len(headers), warnings)
		}
	}
	// The variable of the signal replaces the general one.
	o, _, _ := ParseOTLP(Traces, nil, env(map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=1,b=2", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "c=3"}))
	if len(o.Headers) != 1 || o.Headers[0].Key != "c" || o.Names.Headers != "OTEL_EXPORTER_OTLP_TRACES_HEADERS" {
		t.Errorf("got %v from %s", o.Headers, o.Names.Headers)
	}
}

// C11: printing the settings shows no value of a header.
func TestHeadersPrintWithoutValues(t *testing.T) {
	t.Parallel()
	o := OTLP{Headers: []Header{{"x-key", "s3cr3t"}}}
	var b strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb, o)
		fmt.Fprintf(&b, verb, o.Headers[0])
		fmt.Fprintf(&b, verb, &o.Headers[0])
	}
	js, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(js)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "o", o, "h", o.Headers[0])
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "o", o, "h", o.Headers[0])
	b.WriteString(errors.Join(fmt.Errorf("%v", o)).Error())
	if s := b.String(); strings.Contains(s, "s3cr3t") || strings.Contains(s, "733363723374") || !strings.Contains(s, "x-key") {
		t.Error(s)
	}
}
