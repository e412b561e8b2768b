//go:build !lens_noop

package gym

import (
	"context"

	"github.com/nemo-lens/lens"
)

// sendsTrace reports whether requests carry the trace context of ctx.
func sendsTrace(context.Context) bool { return lens.IsSpanGroupEnabled(HTTPClient) }
