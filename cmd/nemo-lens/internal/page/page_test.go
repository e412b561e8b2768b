package page

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/summary"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen/store"
)

// TestThePageHoldsEverySpan reads the data back out of the page.
func TestThePageHoldsEverySpan(t *testing.T) {
	s, err := store.Load(tracegen.Run{ID: "a", Ranks: 3, Steps: 5, Micro: 2, SlowRank: 1, Start: 1_700_000_000e9, Batch: 8})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, s, nil, Data{Title: "run a", Names: summary.Names(s, nil), Steps: summary.Steps(s, nil)}); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Names, Attrs []string
		Processes    []process
		T, D, N, U   []int64
		K, E, A      []int64
		I            string
		Summary      []summary.Name
		Steps        []summary.Step
	}
	_, text, _ := strings.Cut(out.String(), `<script type="application/json" id="data">`)
	text, _, _ = strings.Cut(text, "</script>")
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	n := s.Len()
	if len(d.T) != n || len(d.D) != n || len(d.N) != n || len(d.U) != n || len(d.K) != n || len(d.E) != n || len(d.A) != n || len(d.I) != 16*n || len(d.Steps) != 5 || len(d.Summary) != 6 {
		t.Fatalf("%d spans: %d starts, %d names", n, len(d.T), len(d.N))
	}
	covered := 0
	for _, p := range d.Processes {
		for _, row := range p.Rows {
			covered += row[1] - row[0]
			for i := row[0] + 1; i < row[1]; i++ {
				if d.T[i-1]+d.D[i-1] > d.T[i] {
					t.Errorf("%s: spans of a row overlap, or are out of order", p.Label)
				}
			}
		}
	}
	if covered != n {
		t.Errorf("rows hold %d of %d spans", covered, n)
	}
	for i := range d.T {
		if name := d.Names[d.N[i]]; name == "train.microbatch" && d.Names[d.N[d.U[i]]] != "train.forward_backward" {
			t.Errorf("the parent of a microbatch is %s", d.Names[d.N[d.U[i]]])
		}
	}
}

// TestNamesCannotBecomeScript: whoever writes spans must not run code in the
// browser of whoever looks at them.
func TestNamesCannotBecomeScript(t *testing.T) {
	evil := `</script><script>alert(1)</script><img src=x onerror=alert(1)>&"`
	s, report := trace.NewStore(true), &trace.Report{}
	r := trace.Reader{Store: s, Report: report}
	quoted, _ := json.Marshal(evil)
	line := `{"resourceSpans":[{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":` + string(quoted) + `}},{"key":"service.name","value":{"stringValue":` + string(quoted) + `}}]},` +
		`"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0000000000000001","name":` + string(quoted) + `,"startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":` + string(quoted) + `,"value":{"stringValue":` + string(quoted) + `}}]}]}]}]}`
	line = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(line)
	if err := r.Read(t.Context(), "x", strings.NewReader(line)); err != nil || s.Len() != 1 {
		t.Fatal(err, s.Len())
	}
	s.Resolve(report)
	var out bytes.Buffer
	if err := Write(&out, s, nil, Data{Title: evil, Names: summary.Names(s, nil), Note: evil}); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if n := strings.Count(page, "</script"); n != 2 {
		t.Errorf("%d scripts end on the page, which has two", n)
	}
	if strings.Contains(page, "<img") {
		t.Error("a name became an element")
	}
	if !strings.Contains(page, "default-src 'none'") || strings.Contains(page, "unsafe-inline") {
		t.Error("the policy allows more than the page's own script")
	}
	for _, from := range []string{"http://", "https://", "//cdn", "@import", "url("} {
		if strings.Contains(page, from) {
			t.Errorf("the page holds %q: it must need nothing else", from)
		}
	}
}
