package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// spans reads the file that the Collector wrote: one OTLP message in JSON a line. The Collector has to be
// stopped.
func (c *collector) spans(t *testing.T) []otlptest.Span {
	t.Helper()
	file, err := os.Open(c.traces)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var out []otlptest.Span
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		msg, err := decodeTraces(lines.Bytes())
		if err != nil {
			t.Fatalf("a line of the Collector's file: %v\n%.500s", err, lines.Text())
		}
		out = append(out, otlptest.Flatten(msg.GetResourceSpans())...)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// decodeTraces reads OTLP/JSON, which is the JSON of protobuf except that identifiers are hexadecimal.
func decodeTraces(line []byte) (*tracepb.TracesData, error) {
	var tree any
	if err := json.Unmarshal(line, &tree); err != nil {
		return nil, err
	}
	if err := recodeIDs(tree); err != nil {
		return nil, err
	}
	standard, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	msg := &tracepb.TracesData{}
	return msg, protojson.Unmarshal(standard, msg)
}

func recodeIDs(node any) error {
	switch x := node.(type) {
	case []any:
		for _, e := range x {
			if err := recodeIDs(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, v := range x {
			text, isText := v.(string)
			if !isText || k != "traceId" && k != "spanId" && k != "parentSpanId" {
				if err := recodeIDs(v); err != nil {
					return err
				}
				continue
			}
			id, err := hex.DecodeString(text)
			if err != nil {
				return fmt.Errorf("%s %q: %w", k, text, err)
			}
			x[k] = base64.StdEncoding.EncodeToString(id)
		}
	}
	return nil
}
