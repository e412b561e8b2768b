package outcome

import (
	"fmt"
	"strings"

	"github.com/nemo-lens/lens/internal/report"
)

// LossError says how many items were lost, of how many, and why. It is the one
// error for that: of a batch that an exporter did not deliver, and of all that went
// through a queue. Its text says each number once and is free of secrets; errors.Is
// and errors.As see the causes.
type LossError struct {
	What     string // the items in the plural, as "spans"
	Endpoint string // where they were to go; may be empty

	Dropped uint64 // the exporter never got them: the sum of the next three
	Full    uint64 // there was no room in the queue
	Late    uint64 // they came after the shutdown
	Left    uint64 // they still waited when the time for the shutdown was up

	Failed uint64 // the exporter got them and did not deliver them
	Of     uint64 // all whose fate was decided in the same time
	Cause  error  // of the last failed export, or why there was no time; nil when the queue was full
}

// Lost returns the number of items that were lost.
func (e *LossError) Lost() uint64 { return e.Dropped + e.Failed }

// LostSpans returns the number of lost items, as [Lost] asks for it.
func (e *LossError) LostSpans() int { return int(min(e.Lost(), 1<<30)) }

// Unwrap returns Cause.
func (e *LossError) Unwrap() error { return e.Cause }

// Error is "lens: 12 of 300 spans lost on the way to X: cause", or for several
// reasons, each with its number. With nothing lost it is a warning.
func (e *LossError) Error() string {
	var b strings.Builder
	if e.Lost() == 0 {
		fmt.Fprintf(&b, "lens: all %d %s delivered%s, with a warning", e.Of, e.What, to(" to ", e.Endpoint))
	} else {
		fmt.Fprintf(&b, "lens: %d of %d %s lost%s", e.Lost(), e.Of, e.What, to(" on the way to ", e.Endpoint))
	}
	if why := e.why(); why != "" {
		b.WriteString(": " + why)
	}
	return b.String()
}

// why is the part behind the numbers of the whole.
func (e *LossError) why() string {
	var parts []string
	for _, r := range []struct {
		n    uint64
		text string
	}{
		{e.Full, "dropped because the queue was full"},
		{e.Late, "dropped because they came after shutdown"},
		{e.Left, "dropped because they still waited when the time was up"},
		{e.Failed, "not exported"},
	} {
		switch {
		case r.n == 0:
		case r.n < e.Lost():
			parts = append(parts, fmt.Sprintf("%d %s", r.n, r.text))
		case e.Failed == 0:
			parts = append(parts, r.text)
		}
	}
	text := strings.Join(parts, ", ")
	cause := reason(e.Cause)
	switch {
	case cause == "" || text == "":
		return text + cause
	}
	return text + " (" + cause + ")"
}

// Warn says on log, at its rate, that items are being lost, where and why.
func (e *LossError) Warn(log *report.Log) {
	args := []any{"dropped", e.Dropped, "failed", e.Failed}
	if e.Cause != nil {
		args = append(args, "error", reason(e.Cause))
	}
	log.Warn(e.What+" lost", fmt.Sprintf("lens: %s are being lost%s", e.What, to(" on the way to ", e.Endpoint)), args...)
}

// Recovered ends what [LossError.Warn] began: items arrive again.
func Recovered(log *report.Log, what, endpoint string) {
	log.Recovered(what+" lost", "lens: "+what+" are exported again"+to(" to ", endpoint))
}

func to(words, endpoint string) string {
	if endpoint == "" {
		return ""
	}
	return words + endpoint
}

// reason is the text of a cause. The numbers of a loss in it are left out: they have
// been added up in those that the text stands behind.
func reason(err error) string {
	switch e := err.(type) {
	case nil:
		return ""
	case *LossError:
		if e != nil {
			return e.why()
		}
	case *Reasons:
		if e != nil {
			return e.text(reason)
		}
	}
	return Text(err)
}

// Reasons joins errors that are told apart by their text: five hundred items may
// fail for one reason. The zero value is none.
type Reasons struct {
	errs []error
	seen []string
	more int // like none of the above and not kept
}

// Add keeps err unless there is one like it. nil is none.
func (r *Reasons) Add(err error) {
	if err == nil {
		return
	}
	const enough = 4
	text := Text(err)
	for _, t := range r.seen {
		if t == text {
			return
		}
	}
	if len(r.errs) >= enough {
		r.more++
		return
	}
	r.errs, r.seen = append(r.errs, err), append(r.seen, text)
}

// Err returns the only error, or all of them as one, or nil.
func (r *Reasons) Err() error {
	switch {
	case len(r.errs) == 0:
		return nil
	case len(r.errs) == 1 && r.more == 0:
		return r.errs[0]
	}
	all := *r
	return &all
}

// Unwrap returns the errors that were kept.
func (r *Reasons) Unwrap() []error { return r.errs }

func (r *Reasons) Error() string { return r.text(Text) }

func (r *Reasons) text(of func(error) string) string {
	var b strings.Builder
	for i, err := range r.errs {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(of(err))
	}
	if r.more > 0 {
		fmt.Fprintf(&b, "; and %d more reasons", r.more)
	}
	return b.String()
}
