//go:build !lens_noop

package lenshttp

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCleanURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    "",
		"http://h:1/v1/responses?api_key=x":   "http://h:1/v1/responses",
		"http://h:1/v1/responses":             "http://h:1/v1/responses",
		"http://h/#x":                         "http://h/",
		"http://h?x":                          "http://h",
		"https://user:pw@h/@scope/pkg":        "https://h/@scope/pkg",
		"https://user@name:p@w@h:8/x?a=b@c#d": "https://h:8/x",
		"http://[::1]:8080/x?y":               "http://[::1]:8080/x",
		"/path?x":                             "/path",
		"http:user:pw@h/x":                    "h/x",
	} {
		require.Equal(t, want, cleanURL(in), in)
	}
}

func TestScrub(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("http://user:PASSWORD@h/p?api_key=SECRET")
	require.NoError(t, err)
	for in, want := range map[string]string{
		"connection refused": "connection refused",
		`Get "http://user:***@h/p?api_key=SECRET": refused`:    `Get "http://h/p": refused`,
		"two: http://a:b@x/?q and https://c:d@y/z#f, and more": "two: http://x/ and https://y/z and more",
		"parse /p?api_key=SECRET: no":                          "parse /p?: no",
		"401 for PASSWORD":                                     "401 for ",
		`malformed HTTP status code "SECRET"`:                  "malformed HTTP status code",
		"://":                                                  "://",
	} {
		require.Equal(t, want, scrub(in, u), in)
	}
	require.Len(t, scrub(strings.Repeat("x", 10_000), nil), maxErrorText+len("..."))
}

func FuzzCleanURL(f *testing.F) {
	f.Add("https", "user", "pw", "h:1", "/a/b", "q=1", "f")
	f.Add("http", "@", ":/?#", "[::1]", "/@x", "?", "#")
	f.Add("http", "", "", "", "//", "a@b://c", "://")
	f.Fuzz(func(t *testing.T, scheme, user, password, host, path, query, fragment string) {
		u := url.URL{Scheme: scheme, User: url.UserPassword(user, password), Host: host, Path: path, RawQuery: query, Fragment: fragment}
		text := u.String()
		if back, err := url.Parse(text); err != nil || back.String() != text || back.Host != host {
			return // net/http would not have got it from a URL
		}
		got := cleanURL(text)
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		u.ForceQuery = false
		if host == "" || scheme == "" {
			return
		}
		if got != u.String() {
			t.Fatalf("cleanURL(%q) = %q, want %q", text, got, u.String())
		}
	})
}
