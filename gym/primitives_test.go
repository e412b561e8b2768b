//go:build !lens_noop

package gym

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

// Case 46: before any set-up everything runs and nothing is recorded.
func TestPrimitives46Off(t *testing.T) {
	reset(t)
	lens.SetEnabledSpanGroups()
	ctx := context.Background()
	for _, g := range SpanGroups.Groups().Groups() {
		assert.False(t, lens.IsSpanGroupEnabled(g))
	}
	got, span := lens.ManagedSpan(ctx, Rollout, "x")
	assert.Equal(t, ctx, got)
	assert.False(t, span.IsRecording())
	lens.SafeSetSpanAttributes(nil, map[string]any{"a": 1})
	calls := 0
	v, err := TracedVerifyFunc(func(_ context.Context, n int) (int, error) { calls++; return 2 * n, nil })(ctx, 21)
	require.NoError(t, err)
	assert.Equal(t, 42, v)
	assert.Equal(t, 1, calls)
	boom := errors.New("boom")
	_, err = lens.TraceFn(Rollout, "x", func(context.Context, int) (int, error) { return 0, boom })(ctx, 1)
	assert.Same(t, boom, err)
}

// Case 48: with the layer below the primitives record. The gate is read at
// every call.
func TestPrimitives48On(t *testing.T) {
	rec := lenstest.Start(t, Rollout)
	f := TracedRolloutFunc(func(context.Context, int) (int, error) { return 0, nil })
	_, _ = f(context.Background(), 1)
	before := lens.SetEnabledSpanGroups()
	_, _ = f(context.Background(), 1)
	lens.SetEnabledSpanGroups(before.Groups()...)
	_, _ = f(context.Background(), 1)
	assert.Len(t, rec.Named("gym.rollout"), 2)
}
