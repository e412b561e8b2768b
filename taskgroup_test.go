//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
)

func TestTaskGroupGivesEachGoroutineAChildSpan(t *testing.T) {
	rec, _ := recordSpans(t, "job,step")
	ctx, parent := ManagedSpan(context.Background(), Job, "parent")
	tasks, _ := NewTaskGroup(ctx, Step)
	tasks.SetLimit(3)
	for i := range 20 {
		tasks.Go("shard", func(ctx context.Context) error {
			_, inner := SpanCM(ctx, "inner")
			inner.End()
			return nil
		}, attribute.Int("shard", i))
	}
	require.NoError(t, tasks.Wait())
	parent.End()
	shards := map[string]bool{}
	for _, s := range rec.Ended() {
		switch s.Name() {
		case "shard":
			require.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
			shards[s.SpanContext().SpanID().String()] = true
		case "inner":
			require.NotEqual(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
		}
	}
	require.Len(t, shards, 20)
}

func TestTaskGroupStopsAtTheFirstError(t *testing.T) {
	rec, _ := recordSpans(t, "step")
	broken := errors.New("broken shard")
	tasks, ctx := NewTaskGroup(context.Background(), Step)
	tasks.Go("waits", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	tasks.Go("fails", func(context.Context) error { return broken })
	require.ErrorIs(t, tasks.Wait(), broken)
	require.Error(t, ctx.Err())
	for _, s := range rec.Ended() {
		require.Equal(t, s.Name() == "fails", s.Status().Code == codes.Error, s.Name())
	}
}

func TestTaskGroupHandsPanicsToTheWaiter(t *testing.T) {
	rec, _ := recordSpans(t, "step")
	tasks, _ := NewTaskGroup(context.Background(), Step)
	tasks.Go("waits", func(ctx context.Context) error { <-ctx.Done(); return nil })
	value := &struct{ n int }{7}
	tasks.Go("panics", func(context.Context) error { panic(value) })
	tasks.Go("ends its goroutine", func(context.Context) error { runtime.Goexit(); return nil })
	require.PanicsWithValue(t, value, func() { _ = tasks.Wait() })
	require.Len(t, rec.Ended(), 3)
	for _, s := range rec.Ended() {
		if s.Name() == "panics" {
			require.Equal(t, 1, exceptions(s))
			require.Equal(t, codes.Error, s.Status().Code)
		}
	}
}

func TestTaskGroupDoesNotTakeGoexitForSuccess(t *testing.T) {
	recordSpans(t, "step")
	tasks, _ := NewTaskGroup(context.Background(), Step)
	tasks.Go("waits", func(ctx context.Context) error { <-ctx.Done(); return nil })
	tasks.Go("exits", func(context.Context) error { runtime.Goexit(); return nil })
	require.ErrorContains(t, tasks.Wait(), "runtime.Goexit")
}

func TestTaskGroupWithTheGroupOff(t *testing.T) {
	rec, _ := recordSpans(t, "job")
	tasks, _ := NewTaskGroup(context.Background(), Step)
	ran := false
	tasks.Go("shard", func(context.Context) error { ran = true; return nil })
	require.NoError(t, tasks.Wait())
	require.True(t, ran)
	require.Empty(t, rec.Ended())
}
