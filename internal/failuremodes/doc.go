// Package failuremodes tests that lens does not fail in the ways in which thin
// tracing libraries fail in practice.
package failuremodes
