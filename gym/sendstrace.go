//go:build !lens_noop

package gym

import "github.com/nemo-lens/lens"

// sendsTrace reports whether requests carry the trace context.
func sendsTrace() bool { return lens.IsSpanGroupEnabled(HTTPClient) }
