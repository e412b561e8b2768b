//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/lenslog"
)

func TestFieldA4TheTypeSaysWhatWentWrong(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), allSignals))
	_, notThere := os.Open("/no/such/file")
	wrapped := fmt.Errorf("set-up: %w", errors.Join(fmt.Errorf("reading: %w", notThere)))
	ctx := context.Background()
	_, span := lens.ManagedSpan(ctx, lens.Step, "End")
	lens.End(span, &wrapped)
	require.Equal(t, wrapped, lens.TraceErrFn(lens.Step, "TraceErrFn", func(context.Context) error { return wrapped })(ctx))
	_, err := lens.TraceFn(lens.Step, "TraceFn", func(context.Context, int) (int, error) { return 0, wrapped })(ctx, 1)
	require.Equal(t, wrapped, err)
	r := slog.NewRecord(time.Now(), slog.LevelError, "failed", 0)
	r.Add("err", wrapped)
	require.NoError(t, lenslog.NewExportHandler(tm.LoggerProvider()).Handle(ctx, r))
	require.NoError(t, tm.Shutdown(ctx))
	require.Len(t, s.Spans(), 3)
	for _, span := range s.Spans() {
		require.Len(t, span.Events, 1, span.Name)
		require.Equal(t, "*fs.PathError", span.Events[0].Attributes["exception.type"], span.Name)
		require.Equal(t, wrapped.Error(), span.Events[0].Attributes["exception.message"], span.Name)
	}
	require.Len(t, s.Logs(), 1)
	require.Equal(t, "*fs.PathError", s.Logs()[0].Attributes["exception.type"])
	require.Equal(t, wrapped.Error(), s.Logs()[0].Attributes["exception.message"])
}

func TestFieldD9ACancellationInAnyFormIsNoError(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	stop := errors.New("the operator has stopped the run")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	for name, err := range map[string]error{
		"context": ctx.Err(), "status": status.Error(codes.Canceled, "gone"), "wrapped status": fmt.Errorf("call: %w", status.Error(codes.Canceled, "gone")),
		"joined": errors.Join(ctx.Err(), status.Error(codes.Canceled, "gone")),
	} {
		_, span := lens.ManagedSpan(ctx, lens.Step, name)
		lens.End(span, &err)
	}
	for name, err := range map[string]error{"cause": context.Cause(ctx), "wrapped cause": fmt.Errorf("step: %w", stop)} {
		require.Equal(t, err, lens.TraceErrFn(lens.Step, name, func(context.Context) error { return err })(ctx))
		tasks, _ := lens.NewTaskGroup(ctx, lens.Step)
		tasks.Go("task "+name, func(context.Context) error { return err })
		require.Equal(t, err, tasks.Wait())
	}
	failed := errors.Join(ctx.Err(), status.Error(codes.Unavailable, "down"))
	_, span := lens.ManagedSpan(ctx, lens.Step, "failed")
	lens.End(span, &failed)
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Len(t, s.Spans(), 9)
	for _, span := range s.Spans() {
		require.Equal(t, span.Name == "failed", len(span.Events) == 1, span.Name)
		require.Equal(t, span.Name == "failed", span.StatusMessage != "", span.Name)
	}
}
