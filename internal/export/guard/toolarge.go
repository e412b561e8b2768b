package guard

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// TooLarge reports whether err says that a request was too large, so that smaller
// ones may succeed. An error that knows has a method of this name; for others, gRPC servers answer ResourceExhausted, which also stands for
// being short of memory or over quota, and HTTP servers 413 or 400; the rest is
// in the text. A wrong guess costs requests, at most two for each span, and no
// span.
func TooLarge(err error) bool {
	if err == nil {
		return false
	}
	// A batch that was divided already, and of which parts were delivered.
	var divided *outcome.LossError
	if errors.As(err, &divided) {
		return false
	}
	var knows interface{ TooLarge() bool }
	if errors.As(err, &knows) {
		return knows.TooLarge()
	}
	if st, ok := status.FromError(err); ok {
		text := st.Message()
		switch st.Code() {
		case codes.ResourceExhausted:
			return SaysTooLarge(text)
		case codes.Unknown, codes.Internal, codes.InvalidArgument, codes.OutOfRange:
			return SaysTooLarge(text)
		}
		return false
	}
	text := err.Error()
	if strings.Contains(text, " too large: exceeded ") {
		return true // the OTLP exporters' own limit
	}
	_, answer, ok := strings.Cut(text, "failed to send to ")
	if !ok {
		return false
	}
	answer, body, _ := strings.Cut(answer, " (body: ")
	return strings.Contains(answer, ": 413 ") ||
		strings.Contains(answer, ": 400 ") && SaysTooLarge(body)
}

// SaysTooLarge looks in a receiver's answer for the ways to refuse a request for its
// size.
func SaysTooLarge(text string) bool {
	text = strings.ToLower(text)
	for _, words := range []string{
		"larger than max", "too large", "too big", "exceeds the max", "exceeds max", "message size", "request size",
		"payload size", "body size", "size limit", "entity too", "content too", "received from server: 413",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
