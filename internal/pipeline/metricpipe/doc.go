// Package metricpipe builds the SDK's meter provider with a reader of its own that
// collects at an interval, and knows the fate of every data point that it collected.
//
// It does the work of the SDK's periodic reader, because that one waits for a hanging
// exporter when it is shut down, whatever the context says, ends the application when a
// callback panics, throws a whole collection away when one callback returns an error,
// and keeps no count of what was not delivered. Here:
//
//   - One collection is with the exporter at a time. A panic, runtime.Goexit or an error
//     in the exporter costs the points of that call and nothing else. A callback that
//     fails or panics is logged, and what the others gave is exported.
//   - Shutdown makes the last collection at once, also while an export is under way,
//     sends it after that, and returns within its context even when the exporter never
//     does. All callers share the work and its result.
//   - Text that is not UTF-8 is repaired.
//   - Lost points are counted, logged at the pace of internal/report, and in the errors of
//     ForceFlush and Shutdown as a *outcome.LossError. A lost point of a cumulative instrument
//     leaves a hole in its curve and not in its sum.
package metricpipe
