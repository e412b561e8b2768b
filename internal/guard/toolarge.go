package guard

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// tooLarge reports whether err says that a request was too large, so that smaller
// ones may succeed. gRPC servers answer ResourceExhausted, which also stands for
// being short of memory or over quota, and HTTP servers 413 or 400; the rest is
// in the text. A wrong guess costs requests, at most two for each span, and no
// span.
func tooLarge(err error) bool {
	if err == nil {
		return false
	}
	if st, ok := status.FromError(err); ok {
		text := strings.ToLower(st.Message())
		switch st.Code() {
		case codes.ResourceExhausted:
			return saysTooLarge(text)
		case codes.Unknown, codes.Internal, codes.InvalidArgument, codes.OutOfRange:
			return strings.Contains(text, "status code received from server: 413") || saysTooLarge(text)
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
		strings.Contains(answer, ": 400 ") && saysTooLarge(strings.ToLower(body))
}

func saysTooLarge(text string) bool {
	for _, words := range []string{
		"larger than max", "too large", "too big", "exceeds the max", "exceeds max", "message size", "request size",
		"payload size", "body size", "size limit", "entity too", "content too",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
