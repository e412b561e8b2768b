package report

import (
	"errors"
	"net"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
)

const leftOut = "..."

// CleanURL returns a URL without its user information, query and fragment, and
// without what only an opaque one has. Of what is no URL it returns what comes
// before anything that could be one of these.
func CleanURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return cleanBadURL(s)
	}
	if u.Opaque != "" && !decimal(u.Opaque) { // host:80 looks like a scheme
		u.Opaque = ""
		return u.Scheme + ":"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

func cleanBadURL(s string) string {
	if _, _, err := net.SplitHostPort(s); err == nil && !strings.ContainsAny(s, "@/?# ") {
		return s
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	if strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//") {
		return s // a path
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return leftOut
	}
	// A user's name and password may hold a slash only by mistake, and then the
	// text is in an error about that: the last @ counts.
	authority, path, _ := strings.Cut(rest[strings.LastIndexByte(rest, '@')+1:], "/")
	host, port, err := net.SplitHostPort(authority)
	if err == nil && !decimal(port) { // a password without its host
		authority = host
	}
	if path != "" {
		path = "/" + path
	}
	return scheme + "://" + authority + path
}

func decimal(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// Describe returns what an error says, without what a URL or a server's answer may
// have brought into it. It goes by the structure of the error where it has one, as a
// secret in a text has no mark of its own. It does not guard the methods of err.
func Describe(err error) string {
	if failed, ok := err.(*url.Error); ok && failed.Err != nil {
		if failed.Op == "parse" { // what it says of its URL quotes a part of it
			return "parse " + strconv.Quote(CleanURL(failed.URL)) + ": " + describeParse(failed.Err)
		}
		return failed.Op + " " + strconv.Quote(CleanURL(failed.URL)) + ": " + Describe(failed.Err)
	}
	text := err.Error()
	if inner := errors.Unwrap(err); inner != nil {
		// A wrapper that ends with the text of what it wraps, as most do.
		if before, ok := strings.CutSuffix(text, inner.Error()); ok && inner.Error() != "" {
			return cleanText(before) + Describe(inner)
		}
	}
	if malformed, ok := err.(textproto.ProtocolError); ok { // it quotes the answer
		return before(string(malformed), ":\"")
	}
	return cleanText(text)
}

func describeParse(err error) string {
	switch err.(type) {
	case url.EscapeError:
		return "invalid URL escape"
	case url.InvalidHostError:
		return "invalid character in host name"
	}
	return before(err.Error(), "\"")
}

// before returns the text before the first of the characters.
func before(text, chars string) string {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return strings.TrimRight(text[:i], " ")
	}
	return text
}

// serverWords begin what net/http says about an answer, which it quotes behind
// them.
var serverWords = []string{"malformed ", "bad Content-Length", "invalid Content-Length", "transfer encoding", "invalid header", "content-length header"}

// cleanText cleans a text that has no more structure than its quotes and blanks:
// what is in quotes, or is one word, is taken for a URL when it could be one.
func cleanText(text string) string {
	for _, w := range serverWords {
		if i := strings.Index(text, w); i >= 0 {
			text = text[:i] + before(text[i:], ":\"")
			break
		}
	}
	var b strings.Builder
	for text != "" {
		if quoted, err := strconv.QuotedPrefix(text); err == nil && text[0] == '"' {
			inner, _ := strconv.Unquote(quoted)
			if strings.HasPrefix(inner, ":") || strings.HasPrefix(inner, "%") {
				inner = leftOut // a part of a URL that net/url does not understand
			}
			b.WriteString(strconv.Quote(cleanWord(inner)))
			text = text[len(quoted):]
			continue
		}
		if i := strings.IndexAny(text, " \t\r\n"); i == 0 {
			b.WriteByte(text[0])
			text = text[1:]
		} else {
			// A quote within a word, as in ?x="a"&token=b, does not end it.
			if i < 0 {
				i = len(text)
			}
			b.WriteString(cleanWord(text[:i]))
			text = text[i:]
		}
	}
	return b.String()
}

// cleanWord cleans a word that has what a secret can hide behind in a URL.
func cleanWord(w string) string {
	open := len(w) - len(strings.TrimLeft(w, "\"'`<("))
	w, opened := w[open:], w[:open]
	colon := ""
	if c, ok := strings.CutSuffix(w, ":"); ok { // of the sentence
		w, colon = c, ":"
	}
	switch {
	case strings.Contains(w, "://"):
		return opened + CleanURL(w) + colon
	case strings.ContainsAny(w, "?#") || strings.Contains(w, "@") && strings.Contains(w, ":") || strings.HasPrefix(strings.ToLower(w), "mailto:"):
		if clean := CleanURL(w); clean != w {
			return opened + clean + colon
		}
	}
	return opened + w + colon
}
