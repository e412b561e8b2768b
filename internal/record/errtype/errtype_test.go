package errtype

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type myErr struct{ inner error }

func (e *myErr) Error() string { return e.inner.Error() }
func (e *myErr) Unwrap() error { return e.inner }

type selfErr struct{}

func (e selfErr) Error() string { return "self" }
func (e selfErr) Unwrap() error { return e }

func TestOf(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	for _, c := range []struct {
		err  error
		want string
	}{
		{path, "*fs.PathError"},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", path)), "*fs.PathError"},
		{errors.Join(nil, fmt.Errorf("a: %w", path), io.EOF), "*fs.PathError"},
		{fmt.Errorf("%w and %w", path, io.EOF), "*fs.PathError"},
		{fmt.Errorf("a: %w", &myErr{path}), "*errtype.myErr"},
		{&myErr{path}, "*errtype.myErr"},
		{errors.New("x"), "*errors.errorString"},
		{fmt.Errorf("x: %w", errors.New("y")), "*errors.errorString"},
		{fmt.Errorf("x: %d", 1), "*fmt.wrapError"},
		{fmt.Errorf("a: %w", (*myErr)(nil)), "*errtype.myErr"},
		{(*myErr)(nil), "*errtype.myErr"},
		{selfErr{}, "errtype.selfErr"},
	} {
		if c.want == "*fmt.wrapError" {
			c.want = fmt.Sprintf("%T", c.err) // nothing is wrapped, so it stands for itself
		}
		require.Equal(t, c.want, Of(c.err), "%T", c.err)
	}
}

func TestCanceled(t *testing.T) {
	gone := status.Error(codes.Canceled, "gone")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{context.Canceled, true},
		{fmt.Errorf("a: %w", context.Canceled), true},
		{gone, true},
		{fmt.Errorf("call: %w", gone), true},
		{errors.Join(gone, context.Canceled), true},
		{errors.Join(gone, io.EOF), false},
		{&myErr{gone}, true},
		{status.FromContextError(context.Canceled).Err(), true},
		{status.Error(codes.Internal, "context canceled"), false},
		{context.DeadlineExceeded, false},
		{errors.New("context canceled"), false},
		{(*myErr)(nil), false},
		{selfErr{}, false},
	} {
		require.Equal(t, c.want, Canceled(c.err), "%#v", c.err)
	}
}

func TestCanceledIn(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	require.False(t, CanceledIn(ctx, stop), "nothing was cancelled")
	cancel(stop)
	require.True(t, CanceledIn(ctx, context.Cause(ctx)))
	require.True(t, CanceledIn(ctx, fmt.Errorf("step: %w", stop)))
	require.False(t, CanceledIn(ctx, io.EOF))
	require.False(t, CanceledIn(ctx, (*myErr)(nil)))
	late, cancelLate := context.WithTimeoutCause(context.Background(), 0, stop)
	defer cancelLate()
	require.False(t, CanceledIn(late, stop), "a deadline is no cancellation")
}
