// Package openspans knows which spans have started and not ended, so that a
// program can be asked what it is doing, and so that spans still open when
// telemetry shuts down are ended and exported, marked as truncated, instead of
// vanishing. The runs that crash or hang are those whose spans stay open.
//
// A [Table] is a span processor. It must be registered before the processor that
// exports, because the tracer provider shuts processors down in the order of
// registration, and a span that the table closes must still find an exporter.
//
// # Cost
//
// The table is on the path of every recorded span: one short lock of one of 64
// shards at the start and one at the end, no process-wide lock, no clock, and no
// allocation once the shards have grown to what the program keeps open at a time.
//
// # Memory
//
// The table holds its spans strongly, on purpose: abandoned spans are what it is
// for. It has a limit on their number instead of an expiry, because an expiry
// would cut the longest spans of a training run short. Spans beyond the limit are
// counted and otherwise left alone.
package openspans
