// Package resattr reads, writes and hands down resource attributes in the
// format of OTEL_RESOURCE_ATTRIBUTES: key=value pairs between commas, values
// percent-encoded, keys never.
//
// Attributes are ordered lists of attribute.KeyValue. Parsing gives strings, as
// the format has no types; [Normalise] gives the known integer fields their
// type back. Writing takes strings, bools, ints and floats; an attribute
// without a value ([attribute.EMPTY]) stands for null.
//
// Decisions that the reference leaves open:
//   - Text that is not valid UTF-8 gets one U+FFFD for each bad byte when it is
//     read, and drops its attribute with a warning when it is written.
//   - A key with a NUL byte is dropped with a warning: no environment can hold
//     it.
//   - [Publish] writes exactly the map that it is given, as in the newest
//     reference; [Environ] lays its attributes over what the environment holds.
//
// Warnings are sentences for a log. They quote keys and malformed pieces, cut
// to 40 bytes, and of well-formed pairs only the value of an integer field that
// is no integer.
//
// Everything here is safe for concurrent use, except that [Publish] changes the
// environment of the process and so is for one caller at a time.
package resattr
