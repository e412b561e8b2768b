// Package console holds the console exporters: one JSON object for each span, log
// record or metric collection, on one line, in one write, in the format of
// OpenTelemetry's stdout exporters.
//
// Where those fail, these go on:
//   - NaN and the infinities, which JSON has no number for, are written as the
//     text "NaN", "Infinity" and "-Infinity". In a span or a log record the
//     value's Type then says STRING, and a list of numbers with one of them in it
//     becomes a STRINGSLICE.
//   - A time outside the years 1 to 9998 is written as the nearest one inside.
//   - A failed write costs its own line only, and is an error: a closed pipe does
//     not end the application, and after a full disk has space again the next line is
//     whole.
//   - Lines of any size stay whole, also when several processes share the pipe
//     (see internal/export/wholeline).
//
// Exporters that share a destination should be given the same *wholeline.Writer,
// or a writer that is itself safe for concurrent use, such as an *os.File. The
// destination is never closed. All exporters are safe for concurrent use.
package console
