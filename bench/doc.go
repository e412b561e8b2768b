// Command bench measures lens beside other tracers and prints one table of
// ratios. It is a module of its own, so that what it compares with never enters
// the module graph of a program that imports lens.
//
// # Method
//
// A subject is a loop that does one operation n times, compiled in its own
// function so that nothing is called through an interface that the caller would
// not call. The number of operations is chosen so that a round takes about
// 20 ms. All subjects of one table take turns, round after round, so that a
// machine that becomes slower becomes slower for all; the table shows the median
// of the rounds, the distance between the quartiles as a share of it, and the
// ratio to the first row. Allocations are counted over one round by the
// runtime, and include those of goroutines that the subject keeps.
//
// Exporters of all tracers discard what they get: the tables named "on" are the
// cost to the goroutine that makes the span, together with what the tracer's own
// goroutines do with it on the same processors. The cost of sending is in the
// table named "wire", in CPU time of the sending process.
package main
