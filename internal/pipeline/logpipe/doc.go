// Package logpipe builds the SDK's logger provider with a queue of its own in front
// of the exporter, and knows the fate of every log record.
//
//   - Every record that was emitted is exported, dropped, failed or queued, and
//     [Pipeline.Stats] is one snapshot of it, exact at every moment. The only records
//     that are not counted there are those that exporting log records has itself made,
//     which would feed on themselves: [Stats.Suppressed] counts them.
//   - Emitting never waits for the network. A full queue makes the producers wait for
//     at most [Config.MaxWait] of wall time, all of them together, because the goroutine
//     that exports often needs no more than a turn on a core; then records are dropped,
//     until a batch has been taken.
//   - The exporter is called once at a time. A panic, runtime.Goexit or an error in it
//     costs the records of that call and nothing else, and one that never comes back
//     does not keep Shutdown from returning.
//   - A batch that the receiver finds too large is halved and sent again, down to single
//     records. Text that is not UTF-8 is repaired, as protobuf would refuse the request.
//     The name of a scope cannot be changed here; the library's own exporters repair it.
//   - Losses are logged at the pace of internal/report, and are in the errors of ForceFlush and
//     Shutdown as a [*LossError].
package logpipe
