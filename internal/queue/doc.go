// Package queue hands things over in batches, from one goroutine, and knows the fate
// of every one of them. It is the one queue of the library: of spans and log records.
//
// # What holds
//
//   - Everything that was put in is exported, dropped, failed or queued: [Queue.Stats]
//     is one snapshot under one lock, and the sum is exact at every moment, during
//     floods, outages and shutdown.
//   - Put never waits for the network and allocates nothing in the steady state: one
//     lock, one append to a chunk that is recycled. It yields its core when two batches
//     are ready and the exporting goroutine could run and does not.
//   - A full queue makes the producers wait, because the exporting goroutine often
//     needs no more than a turn on a core to empty it. All of them together wait for at
//     most [Config.MaxWait] of wall time, then items are dropped at once, until a batch
//     is taken. With a collector that is dead Put costs what it costs otherwise.
//   - The export function is called by one goroutine at a time. An error, a panic or
//     runtime.Goexit in it costs the items of that call and nothing else; an error that
//     says how many were lost is believed, see [outcome.Lost].
//   - Memory: at most QueueSize items wait and BatchSize are with the exporter.
//   - No goroutine turns while there is nothing to do.
//
// # Shutdown
//
// The queue is drained once, for all callers of [Queue.Shutdown] together and for as
// long as one of them still waits. When the last one's time is up, it gets an error
// with the numbers: what waits counts as dropped, what is with the exporter as failed.
// The work then goes on for 100 ms more, so that a caller with a longer deadline can
// still take it over; after that the verdict is final, the exporter's context is
// cancelled, and a late result changes no count. [Ending] is that, for other things
// that end.
package queue
