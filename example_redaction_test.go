//go:build !lens_noop

package lens_test

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens"
)

// With strict redaction "user.Password" is a password, too.
func ExampleWithStrictRedaction() {
	spans := tracetest.NewInMemoryExporter()
	h := setUp(lens.WithSpanExporter(spans), lens.WithStrictRedaction(), lens.WithShutdownTimeout(2*time.Second))
	_, span := lens.SpanCM(context.Background(), "login", attribute.String("user.Password", "hunter2"))
	lens.End(span, nil)
	printTree(h, spans)
	shutDown(h)
	// Output: login user.Password=[REDACTED]
}

// A scheduler that kills soon after SIGTERM leaves less time than the default.
func ExampleWithShutdownTimeout() {
	h := setUp(lens.WithShutdownTimeout(time.Second))
	shutDown(h)
	// Output:
}
