// Package record is the tracer provider, the tracer and the span of lens. In
// comes a start: a context, a name, attributes. Out goes every span that ended
// and is sampled, once, to [Settings.Sink]; until then it can be seen among the
// open ones.
//
// The API is OpenTelemetry's, and what the SDK's tracer provider promises holds
// here. TestPrograms of internal/export/otlp runs random programs against both, up to the
// bytes that leave, and lists what differs on purpose.
//
// # Cost
//
// A started span is two objects: the span, with room for the attributes that it
// was started with, and the context that carries it. A span that is not
// recorded is one. The context of the caller is held while the span is open only, so
// that a queue of ended spans keeps nothing else alive. A lock is the span's
// own or that of a shard that other goroutines seldom use; nothing is locked or
// counted for the whole process.
//
// # Concurrency
//
// Everything exported is safe for concurrent use. What a span holds does not
// change after it ended, and is then read without a lock.
//
// # Code of the application
//
// Samplers, id generators, span processors and contexts of the application may
// panic or answer nonsense: the application goes on, and [Provider.Faults] counts
// it. A context whose Value calls itself without end cannot be survived,
// because the language has no way to; one whose Value starts a span is.
package record
