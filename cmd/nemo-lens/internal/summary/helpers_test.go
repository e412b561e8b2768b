package summary

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

var noWait = regexp.MustCompile(`^$`)

// tree is a store with spans given as name,parent,start,end, one of each name.
func tree(t testing.TB, spans ...string) *trace.Store {
	t.Helper()
	id := func(name string) string {
		for i, s := range spans {
			if n, _, _ := strings.Cut(s, ","); n == name {
				return fmt.Sprintf("%016x", i+1)
			}
		}
		return ""
	}
	var lines []string
	for _, text := range spans {
		f := strings.Split(text, ",")
		var start, end int
		if _, err := fmt.Sscan(f[2], &start); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(f[3], &end); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf(`{"traceId":"%032x","spanId":"%s","parentSpanId":"%s","name":"%s","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}`,
			1, id(f[0]), id(f[1]), f[0], 1000+start, 1000+end))
	}
	s, report := trace.NewStore(false), &trace.Report{}
	r := trace.Reader{Store: s, Report: report}
	text := `{"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":[` + strings.Join(lines, ",") + `]}]}]}`
	if err := r.Read(t.Context(), "tree", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	s.Resolve(report)
	return s
}
