//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"math/big"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
)

func TestOpenSpansSayWhatTheProcessIsDoing(t *testing.T) {
	_, h := recordSpans(t, "job")
	ctx, outer := ManagedSpan(context.Background(), Job, "outer", attribute.Int("n", 1))
	_, inner := SpanCM(ctx, "inner")
	open := h.OpenSpans()
	require.Len(t, open, 2)
	require.Equal(t, "outer", open[0].Name)
	require.Equal(t, Job, open[0].Group)
	require.Equal(t, []attribute.KeyValue{attribute.Int("n", 1)}, open[0].Attributes)
	require.False(t, open[0].ParentSpanID.IsValid())
	require.Equal(t, open[0].SpanID, open[1].ParentSpanID)
	require.Equal(t, inner.SpanContext().TraceID(), open[1].TraceID)
	inner.End()
	outer.End()
	require.Empty(t, h.OpenSpans())
	require.Nil(t, (*TelemetryHandle)(nil).OpenSpans())
}

func TestProcessStartTimeIsBeforeNow(t *testing.T) {
	at, err := ProcessStartTime()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.True(t, at.Before(time.Now()))
	require.Less(t, time.Since(at), 24*time.Hour)
	require.NotZero(t, os.Getpid())
}

// unixTime reads exact decimal seconds, truncated to nanoseconds.
func unixTime(t *testing.T, text string) (time.Time, bool) {
	t.Helper()
	seconds, ok := new(big.Rat).SetString(text)
	if !ok {
		return time.Time{}, false
	}
	ns := new(big.Rat).Mul(seconds, big.NewRat(1e9, 1))
	whole := new(big.Int).Quo(ns.Num(), ns.Denom())
	require.True(t, whole.IsInt64())
	return time.Unix(0, whole.Int64()), true
}
