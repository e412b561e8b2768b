// Package resattr reads and writes resource attributes in the format of
// OTEL_RESOURCE_ATTRIBUTES: "key=value" pairs between commas, values
// percent-encoded. It is for launchers and supervisors that describe the
// processes that they start; a set-up of lens reads the variable by itself, and
// [github.com/nemo-lens/lens.TelemetryHandle.ChildEnv] makes a child part of a run.
//
// Texts, booleans, whole numbers and fractions can be written; everything else,
// a slice for example, is left out and described in the warnings. Warnings are
// sentences for a log. They quote keys and malformed pieces, cut to 40 bytes, and
// of values only those that should be whole numbers and are not.
//
// Everything here is safe for concurrent use except [Publish].
package resattr
