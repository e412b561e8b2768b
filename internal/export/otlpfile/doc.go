// Package otlpfile writes spans, metrics and log records to files as OTLP JSON
// lines: each batch is one line, which is also the body of a request of OTLP/HTTP in
// JSON, with ids in hexadecimal and enumerations as numbers. One file takes all three
// signals of a process.
//
// A line is written with one write to a file that is open for appending, so that a
// process that is killed leaves whole lines. When a file ends in the middle of one all
// the same (the disk was full, the machine went down), the next line is begun anew.
//
// All exporters are safe for concurrent use.
package otlpfile
