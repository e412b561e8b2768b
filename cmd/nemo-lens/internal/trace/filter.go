package trace

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// Filter chooses spans. A field that is empty chooses all.
type Filter struct {
	Names    []string // with * and ? as in file names
	Groups   []string
	Ranks    Ranges
	Steps    Ranges
	Traces   []string // beginnings of ids in hexadecimal
	Runs     []string // beginnings of ids
	Rollouts []string
	Errors   bool // only spans that failed
	From     Moment
	To       Moment
}

// Ranges are numbers such as 3,8-15.
type Ranges []Range

// Range is from First to Last, both included.
type Range struct{ First, Last int }

// ParseRanges reads a list of numbers and ranges: "0,3-5".
func ParseRanges(text string) (Ranges, error) {
	var out Ranges
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(strings.TrimSpace(low))
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(strings.TrimSpace(high))
		}
		if err != nil || first < 0 || last < first {
			return nil, fmt.Errorf("%q is not a number or a range; write for example 0,3-5", part)
		}
		out = append(out, Range{first, last})
	}
	if len(out) == 0 {
		return nil, errors.New("no number; write for example 0,3-5")
	}
	return out, nil
}

// Has reports whether n is in one of the ranges; without ranges everything is.
func (r Ranges) Has(n int) bool {
	for _, x := range r {
		if n >= x.First && n <= x.Last {
			return true
		}
	}
	return len(r) == 0
}

// Moment is a time, or a time after the first span.
type Moment struct {
	Set   bool
	After time.Duration // when At is zero
	At    time.Time
}

// ParseMoment reads "90s" as after the first span, or a time as in RFC 3339.
func ParseMoment(text string) (Moment, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return Moment{Set: true, After: d}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return Moment{Set: true, At: t}, nil
		}
	}
	return Moment{}, fmt.Errorf("%q is no time; write for example 90s, counted from the first span, or 2026-01-31T12:00:00Z", text)
}

func (m Moment) nanoseconds(first int64) int64 {
	if m.At.IsZero() {
		return first + int64(m.After)
	}
	return m.At.UnixNano()
}

// Early decides on what a span says by itself, when it is read: its run, trace
// and rank. It is nil when these do not choose.
func (f *Filter) Early() func(*Store, *Span) bool {
	if len(f.Runs)+len(f.Traces)+len(f.Ranks) == 0 {
		return nil
	}
	return func(s *Store, span *Span) bool {
		p := s.ProcessOf(span)
		if !f.Ranks.Has(p.Rank) || !hasPrefix(f.Runs, p.Run) {
			return false
		}
		if len(f.Traces) == 0 {
			return true
		}
		id := s.TraceID(span.Trace)
		return hasPrefix(f.Traces, hex.EncodeToString(id[:]))
	}
}

func hasPrefix(prefixes []string, text string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, strings.ToLower(p)) || strings.HasPrefix(text, p) {
			return true
		}
	}
	return len(prefixes) == 0
}

// Check reports a pattern that is none.
func (f *Filter) Check() error {
	for _, n := range f.Names {
		if _, err := path.Match(n, ""); err != nil {
			return fmt.Errorf("--name %q is no pattern: %w", n, err)
		}
	}
	return nil
}

// Select returns which spans of a resolved store the filter chooses; nil means all.
func (f *Filter) Select(s *Store) []bool {
	if len(f.Names)+len(f.Groups)+len(f.Steps)+len(f.Rollouts) == 0 && !f.Errors && !f.From.Set && !f.To.Set {
		return nil
	}
	first, _ := s.Bounds()
	out := make([]bool, s.Len())
	for i := range out {
		out[i] = f.matches(s, s.At(i), first)
	}
	return out
}

// Matches reports whether a span that has just been read is chosen, as far as it
// says itself: its step and its rollout may be those of a parent that has not ended
// yet, and are then unknown. Times after the first span count from the first
// span in the store.
func (f *Filter) Matches(s *Store, span *Span) bool {
	first := int64(0)
	if s.Len() > 0 {
		first = s.At(0).Start
	}
	return f.matches(s, span, first)
}

func (f *Filter) matches(s *Store, span *Span, first int64) bool {
	matches := len(f.Names) == 0
	for _, pattern := range f.Names {
		ok, _ := path.Match(pattern, s.Name(span))
		matches = matches || ok || pattern == s.Name(span)
	}
	return matches && (len(f.Steps) == 0 || span.Step != None && f.Steps.Has(int(span.Step))) &&
		(!f.Errors || span.Error()) &&
		(!f.From.Set || span.End() >= f.From.nanoseconds(first)) && (!f.To.Set || span.Start <= f.To.nanoseconds(first)) &&
		(len(f.Rollouts) == 0 || contains(f.Rollouts, s.Rollouts.Text(span.Rollout))) &&
		(len(f.Groups) == 0 || s.inGroups(span, f.Groups))
}

func contains(list []string, text string) bool {
	for _, l := range list {
		if l == text {
			return true
		}
	}
	return false
}

// Group is the span group of a span: what the attribute nemo.span.group says, which
// the file exporter writes. Without it, it is the last part of the name, which holds for names that follow
// the habit of NeMo Lens (train.forward_backward is of the group
// forward_backward) and for no other.
func (s *Store) Group(span *Span) string {
	if span.Group != 0 {
		return s.Groups.Text(uint32(span.Group))
	}
	name := s.Name(span)
	return name[strings.LastIndexByte(name, '.')+1:]
}

func (s *Store) inGroups(span *Span, groups []string) bool {
	return contains(groups, s.Group(span))
}
