// Package guard keeps one bad byte, one large item or one panic from costing more than
// itself on the way to an exporter.
//
//   - [Split] sends a batch in as few requests as its receiver takes: what is too
//     large is halved, down to single items. [TooLarge] is the one check for that.
//   - [FixText] repairs text that is not valid UTF-8, as protobuf would refuse the
//     whole request, and cuts it to a limit, between two characters.
//   - [New] stands in front of a span exporter that does neither, such as one of the
//     program's. It repairs spans everywhere, their scope and their resource, divides
//     batches that a server refuses, turns panics into errors, and counts what is lost
//     ([outcome.LossError]). Valid spans pass through untouched; nothing of a span is kept
//     after ExportSpans has returned, and the caller's spans and slices are never
//     written to.
package guard
