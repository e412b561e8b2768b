package gym

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func noWait(int) time.Duration { return 0 }

// tracked counts the closes of a body.
type tracked struct {
	io.Reader
	closes int
}

func (b *tracked) Close() error { b.closes++; return nil }

func body(text string) *tracked { return &tracked{Reader: strings.NewReader(text)} }

func response(code int, b io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: b, ContentLength: -1}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	for _, test := range []struct {
		name   string
		policy Retry
		method string
		header string // Idempotency-Key
		reader io.Reader
		codes  []int // 0 is an error; the last repeats
		sends  int
		code   int
	}{
		{name: "the first answer will do", method: "GET", codes: []int{200}, sends: 1, code: 200},
		{name: "503 twice", method: "GET", codes: []int{503, 503, 200}, sends: 3, code: 200},
		{name: "502 and 429", method: "PUT", reader: strings.NewReader("payload"), codes: []int{502, 429, 201}, sends: 3, code: 201},
		{name: "attempts run out", method: "GET", codes: []int{504}, sends: 3, code: 504},
		{name: "attempts chosen", policy: Retry{Attempts: 5}, method: "GET", codes: []int{503}, sends: 5, code: 503},
		{name: "no retry", policy: Retry{Attempts: 1}, method: "GET", codes: []int{503}, sends: 1, code: 503},
		{name: "errors", method: "GET", codes: []int{0, 0, 200}, sends: 3, code: 200},
		{name: "errors only", method: "GET", codes: []int{0}, sends: 3},
		{name: "500 is not transient", method: "GET", codes: []int{500}, sends: 1, code: 500},
		{name: "POST is not repeated", method: "POST", reader: strings.NewReader("payload"), codes: []int{503}, sends: 1, code: 503},
		{name: "POST with a key is", method: "POST", header: "k", reader: strings.NewReader("payload"), codes: []int{503, 200}, sends: 2, code: 200},
		{name: "POST by choice", policy: Retry{On: func(_ *http.Request, res *http.Response, err error) bool { return err != nil || res.StatusCode == 500 }},
			method: "POST", reader: strings.NewReader("payload"), codes: []int{0, 500, 200}, sends: 3, code: 200},
		{name: "a body that cannot be read again", method: "PUT", reader: io.MultiReader(strings.NewReader("payload")), codes: []int{503}, sends: 1, code: 503},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var bodies []*tracked
			sends := 0
			test.policy.Wait = noWait
			rt := RetryTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Body != nil {
					text, err := io.ReadAll(r.Body)
					require.NoError(t, err)
					require.Equal(t, "payload", string(text))
					require.NoError(t, r.Body.Close())
				}
				code := test.codes[min(sends, len(test.codes)-1)]
				sends++
				if code == 0 {
					return nil, down
				}
				bodies = append(bodies, body("answer"))
				res := response(code, bodies[len(bodies)-1])
				res.Request = r
				return res, nil
			}), test.policy)
			req, err := http.NewRequestWithContext(context.Background(), test.method, "http://h/", test.reader)
			require.NoError(t, err)
			if test.header != "" {
				req.Header.Set("Idempotency-Key", test.header)
			}
			res, err := rt.RoundTrip(req)
			require.Equal(t, test.sends, sends)
			for i, b := range bodies {
				if last := i == len(bodies)-1 && test.code != 0; !last {
					require.Equal(t, 1, b.closes, "body %d", i)
				}
			}
			if test.code == 0 {
				require.ErrorIs(t, err, down)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.code, res.StatusCode)
			require.Same(t, req, res.Request)
			require.Zero(t, bodies[len(bodies)-1].closes)
		})
	}
}

func TestRetryWaits(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, p Retry, retryAfter string) (sends int, res *http.Response, err error) {
		rt := RetryTransport(roundTripper(func(*http.Request) (*http.Response, error) {
			sends++
			res := response(503, http.NoBody)
			res.Header.Set("Retry-After", retryAfter)
			return res, nil
		}), p)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://h/", nil)
		require.NoError(t, err)
		res, err = rt.RoundTrip(req)
		return sends, res, err
	}
	waits := 0
	never := Retry{Wait: func(int) time.Duration { waits++; return time.Hour }, MaxWait: 2 * time.Hour}

	sends, _, err := call(context.Background(), never, "0")
	require.NoError(t, err)
	require.Equal(t, 3, sends, "Retry-After takes the place of an hour")
	require.Equal(t, 2, waits)

	sends, _, err = call(context.Background(), never, "Mon, 02 Jan 2006 15:04:05 GMT")
	require.NoError(t, err)
	require.Equal(t, 3, sends, "a date in the past")

	sends, res, err := call(context.Background(), Retry{}, "3600")
	require.NoError(t, err)
	require.Equal(t, 1, sends, "longer than the longest wait")
	require.Equal(t, 503, res.StatusCode)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sends, res, err = call(ctx, never, "")
	require.NoError(t, err)
	require.Equal(t, 1, sends, "longer than the time that is left")
	require.Equal(t, 503, res.StatusCode)

	ctx, stop := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	waiting := Retry{Wait: func(int) time.Duration { stop(cause); return time.Hour }, MaxWait: 2 * time.Hour}
	sends, _, err = call(ctx, waiting, "")
	require.ErrorIs(t, err, cause)
	require.Equal(t, 1, sends)
}
