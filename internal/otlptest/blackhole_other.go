//go:build !linux

package otlptest

import "testing"

// Blackhole skips the test: only Linux drops connection attempts on loopback.
func Blackhole(tb testing.TB) string {
	tb.Helper()
	tb.Skip("otlptest: no blackhole on this system")
	return ""
}
