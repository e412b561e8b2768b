// Package trace reads the spans of a run from files and holds them in memory,
// 56 bytes each: what JSON said of names, processes and traces is kept once and
// referred to by number.
//
// In come the lines that lens and the OpenTelemetry Collector write: OTLP JSON,
// one request a line, and the objects of the console exporter; and the files of flight
// recorders, with spans that are still open. Out goes a [Store]
// that knows who is whose parent, which step and rollout each span belongs to,
// and a [Report] of everything that was left out. Damage costs what is damaged:
// the rest is read.
//
// A Store and a Reader belong to one goroutine while they are filled; a Store
// that has been resolved may be read from many.
package trace
