package trace

import (
	"fmt"
	"strings"
)

// Report counts what was read and what was left out.
type Report struct {
	Files   int   `json:"files"`
	Bytes   int64 `json:"bytes"`
	Lines   int64 `json:"lines"`
	Spans   int64 `json:"spans"` // in the store
	Metrics int64 `json:"metric_lines"`
	Logs    int64 `json:"log_lines"`

	Damaged    int64 `json:"damaged_lines"`    // that are not what they should be, but for the last one of a file
	Cut        int64 `json:"cut_lines"`        // last lines that end in the middle
	TooLong    int64 `json:"too_long_lines"`   // above MaxLine
	Unusable   int64 `json:"unusable_spans"`   // without a name, an id or a time
	Clamped    int64 `json:"clamped_spans"`    // that end before they start; they are kept as a moment
	Duplicates int64 `json:"duplicate_spans"`  // that were there already
	Loops      int64 `json:"loops"`            // spans that are their own ancestors; kept as roots
	Orphans    int64 `json:"orphan_spans"`     // kept, whose parents are in no file
	OverLimit  int64 `json:"spans_over_limit"` // above MaxSpans
	Filtered   int64 `json:"filtered_spans"`   // of other runs, traces and ranks
	AttrsOver  int64 `json:"attributes_over_limit"`

	// Of the files of flight recorders.
	Recorders   int64 `json:"flight_files,omitempty"`
	Overwritten int64 `json:"overwritten_spans,omitempty"` // that finished before those that are kept, and are in no other file
	NoSlot      int64 `json:"spans_without_slot,omitempty"`
	Slots       int64 `json:"damaged_slots,omitempty"` // that were being filled, or are not there

	First string `json:"first_damage,omitempty"` // where the first damage is and what it is
}

func (r *Report) damage(where, what string) {
	if r.First == "" {
		r.First = where + ": " + what
	}
}

// LeftOut says in one line what is missing from the view; empty when nothing is.
func (r *Report) LeftOut() string {
	var parts []string
	for _, p := range []struct {
		n              int64
		singular, many string
	}{
		{r.Damaged, "damaged line", "damaged lines"},
		{r.Cut, "last line that is cut off", "last lines that are cut off"},
		{r.TooLong, "line that is too long", "lines that are too long"},
		{r.Unusable, "span without name, id or time", "spans without name, id or time"},
		{r.Duplicates, "duplicate span", "duplicate spans"},
		{r.OverLimit, "span above --max-spans", "spans above --max-spans"},
		{r.Overwritten, "earlier span that its flight recorder has overwritten", "earlier spans that their flight recorders have overwritten"},
		{r.NoSlot, "span that its flight recorder had no slot for", "spans that their flight recorders had no slot for"},
		{r.Slots, "slot of a flight recorder that is cut off or was being filled", "slots of flight recorders that are cut off or were being filled"},
		{r.AttrsOver, "span's attributes above the limit of memory", "spans' attributes above the limit of memory"},
	} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.singular)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.many))
		}
	}
	text := strings.Join(parts, ", ")
	if text != "" && r.First != "" {
		text += "; the first at " + r.First
	}
	return text
}
