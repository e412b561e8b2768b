//go:build !lens_noop

package lenshttp

import (
	"net/url"
	"strings"
)

const maxErrorText = 512

// cleanURL returns a URL without its user information, query and fragment.
func cleanURL(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s[strings.LastIndexByte(s, '@')+1:]
	}
	authority, path, slash := strings.Cut(rest, "/")
	s = scheme + "://" + authority[strings.LastIndexByte(authority, '@')+1:]
	if slash {
		s += "/" + path
	}
	return s
}

// scrub returns the text of an error of a request to u, cut to a sane length,
// without what a URL or a server's answer may have brought into it.
func scrub(text string, u *url.URL) string {
	if u != nil {
		if strings.Contains(u.RawQuery, "=") {
			text = strings.ReplaceAll(text, u.RawQuery, "")
		}
		if password, ok := u.User.Password(); ok && password != "" {
			text = strings.ReplaceAll(text, password, "")
		}
	}
	// net/http quotes what it could not understand of an answer.
	if i := strings.Index(text, "malformed "); i >= 0 {
		if quote := strings.IndexByte(text[i:], '"'); quote >= 0 {
			text = strings.TrimRight(text[:i+quote], " ")
		}
	}
	var b strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			break
		}
		start := strings.LastIndexAny(text[:i], " \t\n\"'`<(") + 1
		end := i + len("://")
		if n := strings.IndexAny(text[end:], " \t\n\"'`>"); n >= 0 {
			end += n
		} else {
			end = len(text)
		}
		b.WriteString(text[:start])
		b.WriteString(cleanURL(text[start:end]))
		text = text[end:]
	}
	b.WriteString(text)
	text = b.String()
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "..."
	}
	return text
}
