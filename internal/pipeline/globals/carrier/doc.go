// Package carrier reads and writes maps with the global propagator. In a build with the
// tag lens_noop, which has none, it is the W3C's headers.
package carrier
