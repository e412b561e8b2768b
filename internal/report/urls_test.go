package report

import (
	"errors"
	"fmt"
	"net/url"
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
		"http:user:pw@h/x":                    "http:",
		"mailto:S":                            "mailto:",
		"#a'S":                                "",
		"/cb%zz?code=S":                       "/cb%zz",
		"http://h/%zz?x='a'&token=S":          "http://h/%zz",
		"http://user:pw%@h/x":                 "http://h/x",
		"http://user:p/w@h/x":                 "http://h/x",
		"http://user:pw/x":                    "http://user/x",
		"127.0.0.1:80":                        "127.0.0.1:80",
		"localhost:80":                        "localhost:80",
	} {
		require.Equal(t, want, CleanURL(in), in)
	}
}

// What a URL can hide, in the forms in which net/http and others report it.
func TestFieldD6SecretsInErrors(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"/cb%zz?code=S3CR3T", "http://h/p?x='a'&token=S3CR3T", `http://h/p?x="a"&token=S3CR3T`, "mailto:S3CR3T", "http://h/#a'S3CR3T",
		"#a'S3CR3T", "?x='a'&token=S3CR3T", "http://u:S3CR3T@h/", "http://u:S3/CR3T@h/", "http://u:S3CR3T%zz@h/",
		"//u:S3CR3T@h/x", "http://h/x?a=(b)&t=S3CR3T", "http://h/x?a=<b>&t=S3CR3T", "http://h/x?a=`b`&t=S3CR3T", "http://h:S3CR3T/x",
	} {
		_, parse := url.Parse(secret)
		errs := []error{
			&url.Error{Op: "Get", URL: secret, Err: errors.New("refused")},
			fmt.Errorf("calling: %w", &url.Error{Op: "Get", URL: secret, Err: errors.New("refused")}),
			&url.Error{Op: "Get", URL: "http://h/", Err: fmt.Errorf("failed to parse Location header %q: %v", secret, parse)},
			fmt.Errorf("failed to parse Location header %q: %w", secret, &url.Error{Op: "parse", URL: secret, Err: url.EscapeError("%zz")}),
			fmt.Errorf("GET %s: no", secret),
			fmt.Errorf("GET %q failed", secret),
		}
		if parse != nil {
			errs = append(errs, parse)
		}
		for _, err := range errs {
			for _, got := range []string{ErrorText(err), Scrubbed(err).Error(), ErrorText(fmt.Errorf("exporting: %w", err))} {
				require.NotContains(t, got, "CR3T", "%v", err)
				require.NotContains(t, got, "S3", "%v", err)
			}
		}
	}
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
		got := CleanURL(text)
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		u.ForceQuery = false
		if host == "" || scheme == "" {
			return
		}
		if got != u.String() {
			t.Fatalf("CleanURL(%q) = %q, want %q", text, got, u.String())
		}
	})
}
