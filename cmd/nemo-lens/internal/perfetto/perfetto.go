// Package perfetto writes spans as Chrome trace events, which ui.perfetto.dev and
// chrome://tracing open: a track for each process, in the order of ranks.
package perfetto

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/lanes"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

// Write writes the chosen spans; selected nil chooses all. Times count from the
// first span, in microseconds.
func Write(w io.Writer, s *trace.Store, selected []bool) error {
	out := bufio.NewWriterSize(w, 1<<18)
	first, _ := s.Bounds()
	labels := s.Labels()
	stacks := lanes.Stacks(s, selected)
	fmt.Fprintf(out, `{"displayTimeUnit":"ms","otherData":{"start_unix_ns":"%d"},"traceEvents":[`, first)
	separator := "\n"
	event := func(text []byte) {
		out.WriteString(separator)
		separator = ",\n"
		out.Write(text)
	}
	for position, process := range order(s) {
		places := stacks[process]
		if len(places) == 0 {
			continue
		}
		pid := process + 1
		event(meta("process_name", pid, 0, map[string]any{"name": labels[process]}))
		event(meta("process_sort_index", pid, 0, map[string]any{"sort_index": position}))
		named := 0
		for _, p := range places {
			if p.Lane >= named {
				named = p.Lane + 1
				event(meta("thread_name", pid, named, map[string]any{"name": fmt.Sprintf("lane %d", named)}))
			}
			text, err := spanEvent(s, int(p.Index), pid, p.Lane+1, first)
			if err != nil {
				return err
			}
			event(text)
		}
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

// order are the processes by run and rank.
func order(s *trace.Store) []int {
	out := make([]int, len(s.Processes))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int {
		x, y := &s.Processes[a], &s.Processes[b]
		return cmp.Or(cmp.Compare(x.Run, y.Run), cmp.Compare(x.Rank, y.Rank))
	})
	return out
}

func meta(name string, pid, tid int, args map[string]any) []byte {
	text, _ := json.Marshal(map[string]any{"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args})
	return text
}

func spanEvent(s *trace.Store, i, pid, tid int, first int64) ([]byte, error) {
	span := s.At(i)
	id := s.TraceID(span.Trace)
	args := map[string]any{"trace_id": hex.EncodeToString(id[:]), "span_id": fmt.Sprintf("%016x", span.ID)}
	if span.ParentID != 0 {
		args["parent_span_id"] = fmt.Sprintf("%016x", span.ParentID)
	}
	if span.Step != trace.None {
		args["step"] = span.Step
	}
	if span.Open() {
		args["open"] = true // it ends with the last sign of life of its process
	}
	if text := s.Attributes(i); text != "" && text != "{}" {
		args["attributes"] = json.RawMessage(text)
	}
	name, err := json.Marshal(s.Name(span))
	if err != nil {
		return nil, err
	}
	group, err := json.Marshal(s.Group(span))
	if err != nil {
		return nil, err
	}
	argText, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("the attributes of span %016x: %w", span.ID, err)
	}
	b := append([]byte(`{"ph":"X","name":`), name...)
	b = append(append(b, `,"cat":`...), group...)
	b = append(b, `,"pid":`...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, `,"tid":`...)
	b = strconv.AppendInt(b, int64(tid), 10)
	b = append(b, `,"ts":`...)
	b = micro(b, span.Start-first)
	b = append(b, `,"dur":`...)
	b = micro(b, span.Duration)
	if span.Error() {
		b = append(b, `,"cname":"terrible"`...)
	}
	b = append(append(b, `,"args":`...), argText...)
	return append(b, '}'), nil
}

// micro appends nanoseconds as microseconds, exactly.
func micro(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/1000, 10)
	if rest := ns % 1000; rest != 0 {
		b = append(b, fmt.Sprintf(".%03d", rest)...)
	}
	return b
}
