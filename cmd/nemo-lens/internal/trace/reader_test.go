package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
)

// read reads texts as files of their own and resolves them.
func read(t testing.TB, keep bool, texts ...string) (*Store, *Report, []error) {
	t.Helper()
	s, report := NewStore(keep), &Report{}
	r := Reader{Store: s, Report: report}
	var errs []error
	for i, text := range texts {
		errs = append(errs, r.Read(t.Context(), fmt.Sprintf("file%d", i), strings.NewReader(text)))
	}
	s.Resolve(report)
	return s, report, errs
}

const (
	traceHex = "0102030405060708090a0b0c0d0e0f10"
	head     = `{"resourceSpans":[{"resource":{"attributes":[{"key":"dl.rank","value":{"intValue":"3"}},{"key":"nemo.run.id","value":{"stringValue":"r"}}]},"scopeSpans":[{"spans":[`
	tail     = `]}]}]}` + "\n"
)

func span(id, parent, name string, start, end int, attrs string) string {
	return fmt.Sprintf(`{"traceId":"%s","spanId":"%s","parentSpanId":"%s","name":"%s","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s]}`,
		traceHex, id, parent, name, start, end, attrs)
}

const step7 = `{"key":"dl.iteration","value":{"intValue":"7"}}`

func TestOneSpanOfOTLP(t *testing.T) {
	s, report, errs := read(t, true, head+`{"traceId":"`+traceHex+`","spanId":"0000000000000001","parentSpanId":"","name":"train.step","kind":1,`+
		`"startTimeUnixNano":"1000","endTimeUnixNano":"3000","attributes":[`+step7+`,{"key":"list","value":{"arrayValue":{"values":[{"boolValue":true},{"doubleValue":1.5}]}}},`+
		`{"key":"nemo.gym.rollout.id","value":{"stringValue":"roll"}},{"key":"nemo.span.group","value":{"stringValue":"step"}},{"key":"nemo.span.truncated","value":{"boolValue":true}}],`+
		`"status":{"code":2,"message":"no \"luck\""}}`+tail)
	if errs[0] != nil || s.Len() != 1 || report.LeftOut() != "" {
		t.Fatalf("%v, %d spans, %s", errs, s.Len(), report.LeftOut())
	}
	got := s.At(0)
	if s.Name(got) != "train.step" || got.ID != 1 || got.ParentID != 0 || got.Start != 1000 || got.Duration != 2000 || got.Step != 7 ||
		!got.Error() || got.Flags&FlagTruncated == 0 || s.Rollouts.Text(got.Rollout) != "roll" || s.Group(got) != "step" {
		t.Errorf("got %+v", *got)
	}
	if p := s.ProcessOf(got); p.Rank != 3 || p.Run != "r" || p.World != None || p.Label() != "rank 3" {
		t.Errorf("process %+v", p)
	}
	want := `{"dl.iteration":7,"list":[true,1.5],"nemo.gym.rollout.id":"roll","nemo.span.group":"step","nemo.span.truncated":true,"status":"no \"luck\""}`
	if s.Attributes(0) != want {
		t.Errorf("attributes\n%s, want\n%s", s.Attributes(0), want)
	}
}

// TestSpellingsOfOTLP reads what other writers of OTLP's JSON make of the same span.
func TestSpellingsOfOTLP(t *testing.T) {
	want, _, _ := read(t, false, head+span("0000000000000001", "00000000000000ff", "a", 1000, 3000, step7)+tail)
	for name, text := range map[string]string{
		"numbers": strings.NewReplacer(`"1000"`, `1000`, `"3000"`, `3000`, `"7"`, `7`, `"3"`, `3`).Replace(head + span("0000000000000001", "00000000000000ff", "a", 1000, 3000, step7) + tail),
		"the field names of protobuf": strings.NewReplacer("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "traceId", "trace_id", "spanId", "span_id",
			"parentSpanId", "parent_span_id", "startTimeUnixNano", "start_time_unix_nano", "endTimeUnixNano", "end_time_unix_nano", "intValue", "int_value", "stringValue", "string_value",
		).Replace(head + span("0000000000000001", "00000000000000ff", "a", 1000, 3000, step7) + tail),
		"base64 ids": strings.NewReplacer(traceHex, "AQIDBAUGBwgJCgsMDQ4PEA==", "0000000000000001", "AAAAAAAAAAE=", "00000000000000ff", "AAAAAAAAAP8=").Replace(
			head + span("0000000000000001", "00000000000000ff", "a", 1000, 3000, step7) + tail),
		"the resource last": `{"resourceSpans":[{"scopeSpans":[{"spans":[` + span("0000000000000001", "00000000000000ff", "a", 1000, 3000, step7) +
			`]}],"resource":{"attributes":[{"value":{"intValue":"3"},"key":"dl.rank"},{"key":"nemo.run.id","value":{"stringValue":"r"}}]}}]}`,
		"a value before its key": head + span("0000000000000001", "00000000000000ff", "a", 1000, 3000, `{"value":{"intValue":"7"},"key":"dl.iteration"}`) + tail,
	} {
		got, report, errs := read(t, false, text)
		if errs[0] != nil || got.Len() != 1 {
			t.Errorf("%s: %v, %d spans, %s", name, errs, got.Len(), report.LeftOut())
			continue
		}
		if p := got.ProcessOf(got.At(0)); p.Rank != 3 || p.Run != "r" {
			t.Errorf("%s: process %+v", name, p)
		}
		a, b := *want.At(0), *got.At(0)
		a.Process, b.Process = 0, 0
		if a != b || got.TraceID(b.Trace) != want.TraceID(a.Trace) {
			t.Errorf("%s: got %+v, want %+v", name, b, a)
		}
	}
}

// TestConsoleOutput reads what the console exporter wrote of a training run: 12
// spans and a collection of metrics.
func TestConsoleOutput(t *testing.T) {
	file, err := os.ReadFile("testdata/console.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	s, report, errs := read(t, true, string(file))
	if errs[0] != nil || s.Len() != 12 || report.Metrics != 1 || report.LeftOut() != "" {
		t.Fatalf("%v, %d spans, %+v", errs, s.Len(), report)
	}
	steps := 0
	for i := range s.Len() {
		span := s.At(i)
		if s.ProcessOf(span).Rank != 0 || s.ProcessOf(span).Service != "nemo" || span.Duration <= 0 {
			t.Errorf("span %d: %+v of %+v", i, *span, s.ProcessOf(span))
		}
		if s.Name(span) == "train.step" {
			steps++
			if span.Step != int32(steps) || len(s.Children(i)) != 2 {
				t.Errorf("step %d: %+v with %d children", steps, *span, len(s.Children(i)))
			}
		}
	}
	if steps != 3 {
		t.Errorf("%d steps", steps)
	}
	if want := `{"train.model.parameters":131}`; s.Attributes(0) != want {
		t.Errorf("attributes %s, want %s", s.Attributes(0), want)
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	good := head + span("0000000000000001", "", "a", 1000, 3000, "") + tail
	other := head + span("0000000000000002", "0000000000000001", "b", 1500, 2500, "") + tail
	for name, c := range map[string]struct {
		text  string
		spans int
		want  func(r *Report) bool
		says  string
	}{
		"a line of text between":        {good + "NCCL WARN something\n" + other, 2, func(r *Report) bool { return r.Damaged == 1 }, "1 damaged line; the first at file0:2: an object was expected at byte 0"},
		"a last line that is cut":       {good + other[:len(other)/2], 1, func(r *Report) bool { return r.Cut == 1 }, "1 last line that is cut off; the first at file0:2: the text ends too early"},
		"a line that is cut in between": {good[:len(good)/2] + "\n" + other, 1, func(r *Report) bool { return r.Damaged == 1 }, "1 damaged line"},
		"two processes in one line":     {good[:len(good)-1] + other, 1, func(r *Report) bool { return r.Damaged == 1 }, "more text after the value"},
		"the same span twice":           {good + good + other, 2, func(r *Report) bool { return r.Duplicates == 1 }, "1 duplicate span"},
		"a span without a name":         {good + strings.Replace(other, `"name":"b"`, `"name":""`, 1), 1, func(r *Report) bool { return r.Unusable == 1 }, "1 span without name"},
		"a span with a bad id":          {good + strings.Replace(other, "0000000000000002", "xyz", 1), 1, func(r *Report) bool { return r.Unusable == 1 }, "1 span without name"},
		"a span that ends before it starts": {good + head + span("0000000000000002", "", "b", 1500, 1400, "") + tail, 2,
			func(r *Report) bool { return r.Clamped == 1 }, ""},
		"metrics and logs":          {good + `{"resourceMetrics":[{}]}` + "\n" + `{"resourceLogs":[{}]}` + "\n", 1, func(r *Report) bool { return r.Metrics == 1 && r.Logs == 1 }, ""},
		"JSON of another kind":      {good + `{"level":"info"}` + "\n", 1, func(r *Report) bool { return r.Damaged == 1 }, "not a line of spans, metrics or logs"},
		"a good part of a bad line": {head + span("0000000000000001", "", "a", 1000, 3000, "") + `,{"traceId":`, 1, func(r *Report) bool { return r.Cut == 1 }, "1 last line"},
		"empty lines, CRLF":         {"\n\r\n" + strings.TrimSpace(good) + "\r\n\n", 1, func(r *Report) bool { return r.Lines == 1 }, ""},
		"children before parents":   {other + good, 2, func(r *Report) bool { return r.Orphans == 0 }, ""},
		"a parent in no file":       {other, 1, func(r *Report) bool { return r.Orphans == 1 }, ""},
	} {
		s, report, errs := read(t, false, c.text)
		if errs[0] != nil || s.Len() != c.spans || !c.want(report) || (c.says == "") != (report.LeftOut() == "") || !strings.Contains(report.LeftOut(), c.says) {
			t.Errorf("%s: %v, %d spans, %q, %+v", name, errs, s.Len(), report.LeftOut(), *report)
		}
		if int64(s.Len()) != report.Spans {
			t.Errorf("%s: %d spans and the report says %d", name, s.Len(), report.Spans)
		}
	}
}

func TestParentsThatGoInACircleAreCut(t *testing.T) {
	s, report, _ := read(t, false, head+
		span("0000000000000001", "0000000000000002", "a", 1, 9, "")+","+span("0000000000000002", "0000000000000003", "b", 1, 8, "")+","+
		span("0000000000000003", "0000000000000001", "c", 1, 7, "")+","+span("0000000000000004", "0000000000000004", "d", 1, 6, "")+tail)
	if report.Loops != 2 || len(s.Roots()) != 2 {
		t.Errorf("%d circles cut, %d roots", report.Loops, len(s.Roots()))
	}
	n := 0
	for _, r := range s.Roots() {
		s.Walk(int(r), func(int, int) bool { n++; return true })
	}
	if n != 4 {
		t.Errorf("%d of 4 spans are below the roots", n)
	}
}

func TestStepsAndRolloutsAreHandedDown(t *testing.T) {
	s, _, _ := read(t, false, head+
		span("0000000000000003", "0000000000000002", "deep", 1, 2, "")+","+span("0000000000000002", "0000000000000001", "mid", 1, 2, "")+","+
		span("0000000000000001", "0000000000000009", "step", 1, 3, step7)+","+span("0000000000000009", "", "job", 1, 5, "")+tail)
	want := map[string]int32{"deep": 7, "mid": 7, "step": 7, "job": None}
	for i := range s.Len() {
		if span := s.At(i); span.Step != want[s.Name(span)] {
			t.Errorf("%s: step %d", s.Name(span), span.Step)
		}
	}
}

func TestSelfTimeCountsOverlapsOnceAndOnlyInside(t *testing.T) {
	s, _, _ := read(t, false, head+span("0000000000000001", "", "p", 100, 200, "")+","+
		span("0000000000000002", "0000000000000001", "c", 110, 150, "")+","+span("0000000000000003", "0000000000000001", "c", 120, 140, "")+","+
		span("0000000000000004", "0000000000000001", "c", 145, 160, "")+","+span("0000000000000005", "0000000000000001", "c", 190, 900, "")+","+
		span("0000000000000006", "0000000000000001", "c", 50, 105, "")+tail)
	for i := range s.Len() {
		if s.Name(s.At(i)) == "p" && s.Self(i) != 100-50-10-5 {
			t.Errorf("self time %d", s.Self(i))
		}
	}
}

func TestALineThatIsTooLongCostsItselfOnly(t *testing.T) {
	good := head + span("0000000000000001", "", "a", 1000, 3000, "") + tail
	long := bytes.Repeat([]byte("x"), MaxLine+10)
	s, report := NewStore(false), &Report{}
	r := Reader{Store: s, Report: report}
	text := append(append([]byte(good), long...), '\n')
	text = append(text, strings.Replace(good, "0001", "0002", 1)...)
	if err := r.Read(t.Context(), "x", bytes.NewReader(text)); err != nil || report.TooLong != 1 || s.Len() != 2 {
		t.Errorf("%v, %d too long, %d spans", err, report.TooLong, s.Len())
	}
}

func TestPackedFilesAlsoCutOnes(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := (tracegen.Run{ID: "a", Ranks: 2, Steps: 100, Micro: 2, Start: 1e18, Batch: 8}).WriteRank(w, 0); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	s, _, errs := read(t, false, packed.String())
	if errs[0] != nil || s.Len() != 601 {
		t.Errorf("%v, %d spans", errs, s.Len())
	}
	s, report, errs := read(t, false, packed.String()[:packed.Len()/2])
	if errs[0] != nil || s.Len() == 0 || s.Len() >= 601 || report.Cut == 0 {
		t.Errorf("cut in half: %v, %d spans, %+v", errs, s.Len(), report)
	}
}

func TestAFileThatIsNoTraceSaysWhatItLooksLike(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "it is empty",
		"  \n \n":               "it is empty",
		"hello there\nmore":     `no spans: it looks like text, starting with "hello there" (line 1: an object was expected at byte 0)`,
		"<!DOCTYPE html><html>": "HTML or XML",
		"\x7fELF\x02\x01\x01":   "a program",
		"\x28\xb5\x2f\xfdxxxx":  "a zstd file: unpack it first",
		"NEMOFLGT\x01\x00":      "ends after 10 bytes, in the middle of its header",
		"PK\x03\x04xx":          "a zip file",
		"\xff\xfe{\x00":         "UTF-16",
		`{"traceEvents":[]}`:    "a Chrome or Perfetto trace",
		"[\n" + `{"ph":"X"}`:    "a Chrome or Perfetto trace",
		`{"data":[{"traceID":"x","processes":{}}]}`: "Jaeger's JSON",
		"{\n  \"resourceSpans\": []\n}":             "JSON that is not one object a line",
		`{"level":"info","msg":"x"}`:                `JSON of another kind, starting with "{\"level\":\"info\",\"msg\":\"x\"}"`,
		"\x00\x01\x02\x03":                          "binary data (application/octet-stream)",
	} {
		_, report, errs := read(t, false, text)
		var format *FormatError
		if !errors.As(errs[0], &format) || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%q: %v; want %q", text, errs[0], want)
		}
		if report.Damaged != 0 {
			t.Errorf("%q: counted as %d damaged lines, too", text, report.Damaged)
		}
	}
}

func TestReadingStopsWhenItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := Reader{Store: NewStore(false), Report: &Report{}}
	if err := r.Read(ctx, "x", strings.NewReader(head)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var file bytes.Buffer
	if err := (tracegen.Run{ID: "a", Ranks: 1, Steps: 100, Start: 1e18, Batch: 8}).WriteRank(&file, 0); err != nil {
		t.Fatal(err)
	}
	report := &Report{}
	r := Reader{Store: NewStore(false), Report: report, MaxSpans: 100}
	if err := r.Read(t.Context(), "x", &file); err != nil || r.Store.Len() != 100 || report.OverLimit != 301 {
		t.Errorf("%v, %d spans, %d above the limit", err, r.Store.Len(), report.OverLimit)
	}
}

func TestFilters(t *testing.T) {
	run := tracegen.Run{ID: "aabb", Ranks: 4, Steps: 10, Micro: 2, Start: 1_700_000_000e9, Batch: 8}
	ranges := func(text string) Ranges {
		r, err := ParseRanges(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	moment := func(text string) Moment {
		m, err := ParseMoment(text)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for name, c := range map[string]struct {
		f    Filter
		want int
	}{
		"nothing":         {Filter{}, 4 * run.Spans()},
		"rank":            {Filter{Ranks: ranges("1, 3-9")}, 2 * run.Spans()},
		"name":            {Filter{Names: []string{"train.optimizer"}}, 40},
		"pattern":         {Filter{Names: []string{"train.[ao]*"}}, 80},
		"group":           {Filter{Groups: []string{"forward_backward"}}, 40},
		"step":            {Filter{Steps: ranges("2,4-5")}, 4 * 3 * 6},
		"step and name":   {Filter{Steps: ranges("2"), Names: []string{"train.step"}}, 4},
		"run":             {Filter{Runs: []string{"AAB"}}, 4 * run.Spans()},
		"another run":     {Filter{Runs: []string{"b"}}, 0},
		"trace":           {Filter{Traces: []string{"0000"}}, 4 * run.Spans()},
		"another trace":   {Filter{Traces: []string{"f"}}, 0},
		"errors":          {Filter{Errors: true}, 0},
		"before the end":  {Filter{To: moment("1ms"), Names: []string{"train.job"}}, 4},
		"long after":      {Filter{From: moment("1h")}, 0},
		"at a time":       {Filter{From: moment("2023-11-14T22:13:20Z"), To: moment("2023-11-14T22:13:20.000500Z")}, 4},
		"another rollout": {Filter{Rollouts: []string{"x"}}, 0},
	} {
		s, report := NewStore(false), &Report{}
		r := Reader{Store: s, Report: report, Keep: c.f.Early()}
		for rank := range run.Ranks {
			var file bytes.Buffer
			if err := run.WriteRank(&file, rank); err != nil {
				t.Fatal(err)
			}
			if err := r.Read(t.Context(), "x", &file); err != nil {
				t.Fatal(name, err)
			}
		}
		s.Resolve(report)
		n := s.Len()
		if selected := c.f.Select(s); selected != nil {
			n = 0
			for _, yes := range selected {
				if yes {
					n++
				}
			}
		}
		if n != c.want {
			t.Errorf("%s: %d spans, want %d", name, n, c.want)
		}
	}
	for _, text := range []string{"", "x", "3-1", "-1", "1,,x"} {
		if _, err := ParseRanges(text); err == nil {
			t.Errorf("ParseRanges(%q) gives no error", text)
		}
	}
	if _, err := ParseMoment("soon"); err == nil {
		t.Error("ParseMoment(soon) gives no error")
	}
}

func TestLabelsAreDistinct(t *testing.T) {
	s := NewStore(false)
	for _, p := range []Process{
		{Rank: 0, Run: "a"}, {Rank: 0, Run: "b"}, {Rank: 1, Run: "a"}, {Rank: None, Service: "web", PID: 7}, {Rank: None, Server: "agent", Host: "x"},
		{Rank: None, Server: "agent", Host: "y"}, {Rank: None}, {Rank: None, World: 2},
	} {
		s.process(p)
	}
	got := strings.Join(s.Labels(), "|")
	if want := "rank 0 (a)|rank 0 (b)|rank 1|web/7|agent (x)|agent (y)|unknown|unknown #2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzReader holds that nothing makes the reader panic or the store inconsistent.
func FuzzReader(f *testing.F) {
	console, err := os.ReadFile("testdata/console.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(console)
	f.Add([]byte(head + span("0000000000000001", "0000000000000001", "a", 1000, 3000, step7) + tail))
	f.Add([]byte(`{"SpanContext":{"TraceID":"` + traceHex + `","SpanID":"0000000000000001"},"Name":"x","StartTime":"2024-01-01T00:00:00Z","EndTime":"x","Attributes":[{"Key":"k","Value":{"Value":[1,"a"]}}]}`))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, keep := range []bool{false, true} {
			s, report := NewStore(keep), &Report{}
			r := Reader{Store: s, Report: report, MaxSpans: 10_000}
			_ = r.Read(t.Context(), "x", bytes.NewReader(data))
			_ = report.LeftOut()
			s.Resolve(report)
			below := 0
			for _, root := range s.Roots() {
				s.Walk(int(root), func(int, int) bool { below++; return true })
			}
			if below != s.Len() {
				t.Fatalf("%d of %d spans are below the roots", below, s.Len())
			}
			for i := range s.Len() {
				span := s.At(i)
				if self := s.Self(i); self < 0 || self > span.Duration {
					t.Fatalf("own time %d of %d", self, span.Duration)
				}
				_, _ = s.Name(span), s.ProcessOf(span).Label()
			}
			_ = s.Labels()
		}
	})
}
