// Package guard stands in front of a span exporter and keeps one bad byte, one
// large span or one panic from costing more than itself.
//
//   - Text that is not valid UTF-8, anywhere in a span, its scope or its resource,
//     is repaired: bad bytes become U+FFFD. Protobuf would refuse the whole request.
//   - Attribute values, also those of events and links, and status text are cut to
//     a limit, between two characters. The SDK's limit covers the attributes alone.
//   - A batch is split so that each request stays below a size; what a server still
//     calls too large is halved and sent again, down to single spans.
//   - A panic in the exporter is an error.
//   - Whatever is lost is counted, in an outcome.LossError.
//
// Valid spans pass through untouched and without an allocation. Nothing of a span
// is kept after ExportSpans has returned, and the caller's spans and slices are
// never written to.
package guard
