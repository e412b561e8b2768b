// Package export is the room of what sends ended spans, points and log records
// out of the process: translation to the wire and its sizes (otlp), the console
// (console, wholeline), files (otlpfile), and the guard around exporters of the
// caller (guard). Batches come in from the queues of internal/pipeline; requests,
// lines, and an error that counts what was lost go out.
package export
