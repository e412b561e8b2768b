package httpbody

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type (
	writes struct{ strings.Builder }
	closes struct{ n int }
)

var errClosed = errors.New("closed")

func (c *closes) CloseWrite() error { c.n++; return errClosed }

func TestLike(t *testing.T) {
	t.Parallel()
	body := io.NopCloser(strings.NewReader("inner"))
	outer := io.NopCloser(strings.NewReader("outer"))
	w, c := new(writes), new(closes)
	for _, inner := range []io.ReadCloser{
		struct{ io.ReadCloser }{body},
		struct {
			io.ReadCloser
			io.Writer
		}{body, w},
		struct {
			io.ReadCloser
			*closes
		}{body, c},
		struct {
			io.ReadCloser
			io.Writer
			*closes
		}{body, w, c},
	} {
		got := Like(inner, outer)
		_, wantWriter := inner.(io.Writer)
		gotWriter, writes := got.(io.Writer)
		require.Equal(t, wantWriter, writes)
		require.Equal(t, wantWriter, Writable(got))
		_, wantCloser := inner.(closeWriter)
		gotCloser, closes := got.(closeWriter)
		require.Equal(t, wantCloser, closes)
		if writes {
			w.Reset()
			_, err := io.WriteString(gotWriter, "x")
			require.NoError(t, err)
			require.Equal(t, "x", w.String())
		}
		if closes {
			n := c.n
			require.ErrorIs(t, gotCloser.CloseWrite(), errClosed)
			require.Equal(t, n+1, c.n)
		}
	}
	text, err := io.ReadAll(Like(body, outer))
	require.NoError(t, err)
	require.Equal(t, "outer", string(text))
}
