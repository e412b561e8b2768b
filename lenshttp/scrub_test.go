//go:build !lens_noop

package lenshttp

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("http://user:PASSWORD@h/p?api_key=SECRET")
	require.NoError(t, err)
	for in, want := range map[string]string{
		"connection refused": "connection refused",
		`Get "http://user:***@h/p?api_key=SECRET": refused`:    `Get "http://h/p": refused`,
		"two: http://a:b@x/?q and https://c:d@y/z#f, and more": "two: http://x/ and https://y/z and more",
		"parse /p?api_key=SECRET: no":                          "parse /p: no",
		"401 for PASSWORD":                                     "401 for ",
		`malformed HTTP status code "SECRET"`:                  "malformed HTTP status code",
		"malformed MIME header: missing colon: SECRET":         "malformed MIME header",
		`x: unsupported transfer encoding: "SECRET"`:           "x: unsupported transfer encoding",
		`bad Content-Length "SECRET"`:                          "bad Content-Length",
		"dial tcp 127.0.0.1:1: connect: connection refused":    "dial tcp 127.0.0.1:1: connect: connection refused",
		"dial tcp [::1]:1: i/o timeout":                        "dial tcp [::1]:1: i/o timeout",
		`unsupported protocol scheme "ftp"`:                    `unsupported protocol scheme "ftp"`,
		`lookup h.example: no such host (see "docs")`:          `lookup h.example: no such host (see "docs")`,
		"why?": "why",
		"a://": "a:",
	} {
		require.Equal(t, want, errorText(errors.New(in), u), in)
	}
	require.Len(t, errorText(errors.New(strings.Repeat("x", 10_000)), nil), maxErrorText+len("..."))
}
