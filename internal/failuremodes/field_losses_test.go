//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// The warning about lost spans names where they were to go and why they did not arrive.
func TestFieldB6LostSpansHaveACause(t *testing.T) {
	for _, protocol := range protocols {
		s := otlptest.Start(t)
		s.SetFault(otlptest.Reject(codes.Unauthenticated, 401))
		tm := setUp(t, config(to(protocol, urlOf(s, protocol)), func(c *lens.Config) { c.BatchDelay = time.Millisecond }))
		makeSpans(3)
		require.Eventually(t, func() bool { return strings.Contains(tm.log.String(), "spans are being lost") }, limit, time.Millisecond)
		var warning string
		for line := range strings.Lines(tm.log.String()) {
			if strings.Contains(line, "spans are being lost") {
				warning = line
			}
		}
		at := s.GRPCAddr()
		if protocol == httpProtocol {
			at = s.HTTPAddr()
		}
		require.Contains(t, warning, "on the way to")
		require.Contains(t, warning, at, protocol)
		require.Regexp(t, `error=.*(401|Unauthenticated)`, warning, protocol)
		require.Regexp(t, `failed=[1-3]\b`, warning, protocol)
		require.ErrorContains(t, tm.Shutdown(context.Background()), "3 of 3 spans lost on the way to")
	}
}
