// Package batch hands ended spans to an exporter in batches, from one goroutine,
// and knows the fate of every one of them.
//
// # What holds
//
//   - Every sampled span that was ended is exported, dropped, failed or queued:
//     [Processor.Stats] is one snapshot under one lock, and the sum is exact at
//     every moment, during floods, outages and shutdown. Spans that were not
//     sampled are ignored and not counted.
//   - OnEnd never waits for the network and allocates nothing in the steady state:
//     one lock, one append to a chunk that is recycled. It yields its core when two
//     batches are ready and the exporter's goroutine could run and does not.
//   - A full queue makes the producers wait, because the exporter's goroutine often
//     needs no more than a turn on a core to empty it. All of them together wait
//     for at most [Config.MaxWait] of wall time, then spans are dropped at once,
//     until the exporter takes a batch. With a collector that is dead OnEnd costs
//     what it costs otherwise.
//   - The exporter is called by one goroutine at a time. An error, a panic or
//     runtime.Goexit in it costs the spans of that call and nothing else.
//   - Memory: at most QueueSize spans wait and BatchSize are with the exporter.
//   - No goroutine turns while there is nothing to do.
//
// # Shutdown
//
// The queue is drained once, for all callers of [Processor.Shutdown] together and
// for as long as one of them still waits. When the last one's time is up, it gets
// an error with the numbers: what waits counts as dropped, what is with the
// exporter as failed. The work then goes on for 100 ms more, so that a caller with
// a longer deadline can still take it over; after that the verdict is final, the
// exporter's context is cancelled, and a late result changes no count.
package batch
