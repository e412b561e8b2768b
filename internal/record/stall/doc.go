// Package stall looks from time to time at the spans that are open: one that has been
// open for too long is reported, once; one that has been open for long is shown by
// heartbeats, spans of their own that are exported while it goes on. Open spans come in
// from the recorder; reports and heartbeats go out through functions. A program that
// asks for neither has no [Watch] and pays nothing.
package stall
