package otlp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nemo-lens/lens/internal/settings"
)

// Error says why a whole request was not delivered.
type Error struct {
	Signal   settings.Signal
	Endpoint string // as Describe has it
	Code     codes.Code
	Status   int // of HTTP; 0 over gRPC and without an answer
	Tries    int
	Elapsed  time.Duration

	reason   string
	hint     string
	tooLarge bool
	causes   []error
}

// Error implements error. The text holds nothing that the receiver wrote.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lens: failed to send %s to %s: %s", e.Signal, e.Endpoint, e.reason)
	if e.Tries > 1 {
		fmt.Fprintf(&b, " (%d tries in %s)", e.Tries, e.Elapsed.Round(10*time.Millisecond))
	}
	if e.hint != "" {
		b.WriteString("; " + e.hint)
	}
	return b.String()
}

// TooLarge reports whether the receiver refused the request for its size, so that
// smaller ones may pass.
func (e *Error) TooLarge() bool { return e.tooLarge }

// GRPCStatus makes status.FromError see the code. Over HTTP it is the nearest one.
func (e *Error) GRPCStatus() *status.Status {
	if e.tooLarge {
		return status.New(codes.ResourceExhausted, "the request is too large")
	}
	return status.New(e.Code, e.reason)
}

// Unwrap returns the end of the context and the error of the system behind e, as far
// as there are any.
func (e *Error) Unwrap() []error { return e.causes }

// PartialError says that the receiver took a request and rejected some of it.
type PartialError struct {
	Signal   settings.Signal
	Endpoint string
	Rejected int // of Sent
	Sent     int
}

// LostSpans returns the number of items that were rejected; 0 means that the
// receiver took all and had something to say.
func (e *PartialError) LostSpans() int { return e.Rejected }

// Error implements error. What the receiver said about it is left out.
func (e *PartialError) Error() string {
	things := things[e.Signal]
	if e.Rejected == 0 {
		return fmt.Sprintf("lens: %s took all %d %s and has a warning; the receiver's log may say which", e.Endpoint, e.Sent, things)
	}
	return fmt.Sprintf("lens: %s rejected %d of %d %s; the receiver's log may say why", e.Endpoint, e.Rejected, e.Sent, things)
}

// partial returns the error for a partial success, or nil.
func (c *client) partial(rejected int64, message string, sent int) error {
	if rejected <= 0 && message == "" {
		return nil
	}
	return &PartialError{
		Signal: c.settings.Signal, Endpoint: c.where,
		Rejected: int(min(max(rejected, 0), int64(sent))), Sent: sent,
	}
}

// failure is the outcome of one attempt.
type failure struct {
	text     string // without anything that the receiver wrote; empty when only the context ended
	hint     string
	code     codes.Code
	status   int
	retry    bool
	after    time.Duration // what the receiver asked to wait
	tooLarge bool
	cause    error
}

func (f *failure) Error() string { return f.text }

func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return &failure{text: err.Error()}
}

// errorOf makes the error of an export. ended is why the context was done, or nil.
func (c *client) errorOf(f *failure, ended error, tries int, start time.Time) error {
	e := &Error{
		Signal: c.settings.Signal, Endpoint: c.where, Code: f.code, Status: f.status, Tries: tries, Elapsed: time.Since(start),
		reason: f.text, hint: f.hint, tooLarge: f.tooLarge,
	}
	// Of the cause only what has no text from outside.
	var errno syscall.Errno
	if errors.As(f.cause, &errno) {
		e.causes = append(e.causes, errno)
	}
	if ended != nil {
		e.Code = codes.DeadlineExceeded
		nothing := "no success"
		if e.reason == "" {
			nothing = "no answer"
		}
		var why string
		switch {
		case errors.Is(ended, errTimeout):
			why = fmt.Sprintf("%s within %s", nothing, c.settings.Timeout)
			if name := c.settings.Names.Timeout; name != "" {
				why += " (" + name + ")"
			}
			ended = context.DeadlineExceeded
		case errors.Is(ended, context.DeadlineExceeded):
			why = nothing + " before the caller's deadline"
			ended = context.DeadlineExceeded
		default:
			why = "the export was cancelled"
			e.Code, ended = codes.Canceled, context.Canceled
		}
		e.causes = append(e.causes, ended)
		if f.text != "" {
			why += "; last: " + f.text
		}
		e.reason = why
	} else if e.Code == codes.OK {
		e.Code = codes.Unknown
	}
	if f.after > 0 && ended == nil {
		e.reason += fmt.Sprintf("; the receiver asks to wait %s", f.after.Round(time.Millisecond))
	}
	// Also for a status: a proxy that refuses answers in the receiver's place.
	if p := c.proxy(); p != "" {
		e.hint = strings.TrimPrefix(e.hint+"; "+p, "; ")
	}
	return e
}
