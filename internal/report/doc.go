// Package report is how the library speaks of its own trouble: a few log lines
// for a long outage, no secret in any of them, and no way for a log handler that
// traces, or an exporter that logs, to make it recurse or deadlock.
//
// # Where the lines go
//
// To the logger given to [New]. Without one they go to standard error as text,
// and not to slog.Default(): the default logger belongs to the application, often
// writes to standard output, where the application's results are, and may be a
// handler that makes spans.
//
// # Rate
//
// Warnings have a kind. The first of a kind is logged at once, further ones are
// counted, and the next line, at the earliest after 30 s, then 2 min, 8 min and
// so on up to a day, says how many there were. [Log.Recovered] ends an outage
// with one line. A kind that was quiet for longer than its current pause starts
// over.
//
// # Re-entry
//
// One goroutine at a time is inside the handler, and no lock is held there. A
// message that arrives meanwhile, from the handler itself or from anywhere else,
// is queued (64 at most, then counted as lost) and written by the goroutine that
// is inside. Nobody waits. The rate limit ends what would otherwise go round for
// ever.
package report
