package report

import (
	"regexp"
	"strings"

	"github.com/nemo-lens/lens/internal/report/shorten"
)

const (
	redacted   = "[REDACTED]"
	serverText = "(server's text left out)"

	// maxText bounds one scrubbed text, in bytes.
	maxText  = 1024
	cutMark  = "… (cut)"
	maxInput = 16 * maxText
)

// Scrub returns s without what must not reach a log: the user-info of URLs, the
// values of header, key=value and JSON pairs whose name says that they are
// secret, tokens after Bearer and Basic, and what a server answered, of which
// only the status code remains. The result is valid UTF-8 of at most 1 KiB, and
// scrubbing it again changes nothing that matters. It works on text alone and can
// therefore not know a secret without any mark; values that are known to be
// secret must not be put into a message in the first place.
func Scrub(s string) string {
	s = cut(strings.ToValidUTF8(s, "\uFFFD"), maxInput, "")
	s = withoutAnswer(s)
	s = withoutUserInfo(s)
	s = pairs.ReplaceAllString(s, "${1}${2}"+redacted)
	s = schemes.ReplaceAllString(s, "${1}"+redacted)
	return cut(s, maxText, cutMark)
}

// ErrorText is Scrub of what [Describe] finds err to say. It tolerates an Error method
// that panics and a typed nil.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return Scrub(guarded(err))
}

func guarded(err error) (s string) {
	defer func() {
		if recover() != nil {
			s = text(err) // fmt says what panicked
		}
	}()
	return Describe(err)
}

// Scrubbed returns err itself when its text needs no scrubbing, and otherwise an
// error with the scrubbed text that unwraps to err.
func Scrubbed(err error) error {
	if err == nil {
		return nil
	}
	if clean := ErrorText(err); clean != text(err) {
		return &scrubbedError{clean, err}
	}
	return err
}

type scrubbedError struct {
	text string
	err  error
}

func (e *scrubbedError) Error() string { return e.text }
func (e *scrubbedError) Unwrap() error { return e.err }

// cut shortens s to at most limit bytes, mark included.
func cut(s string, limit int, mark string) string {
	if len(s) <= limit {
		return s
	}
	return shorten.Bytes(s, limit-len(mark)) + mark
}

// secretNames ends the names whose values are taken out, in any case: x-api-key,
// OTLP_TOKEN, proxy-authorization, x-honeycomb-team.
const secretNames = `(?:authorization|[-_.]auth|cookie|token|secret|passw(?:or)?d|passwd|pwd|[-_.]pass|credentials?|` +
	`api[-_.]?key|[-_.]key|apikey|accesskey|privatekey|dsn|[-_.]team|signature)`

var (
	// A pair: a name, perhaps quoted, then = or :, then a value up to what ends
	// one in a header list, a URL, a JSON object or a sentence. Authorization and
	// cookies hold blanks and commas, so their value goes to the end of the line
	// or to the closing quote.
	pairs = regexp.MustCompile(`(?i)(?:` +
		`([\w.-]*(?:authorization|cookie)\\?["']?(?:\s*[:=]\s*|%3[ad])(?:\\?["'])?)[^\n"'\\]+` +
		`|([\w.-]*` + secretNames + `\\?["']?(?:\s*[:=]\s*|%3[ad]))` +
		`(?:"(?:[^"\\]|\\.)*"?|\\"[^"]*"?|'[^']*'?|[^\s,;&"'<>(){}\[\]\\]+))`)

	schemes = regexp.MustCompile(`(?i)(\b(?:bearer|basic|negotiate|apikey)(?:\s+|%20|\+))[\w.~+/=:%-]{4,}`)

	secretNameEnd = regexp.MustCompile(`(?i)` + secretNames + `$`)

	// net/http quotes the first line of what is not HTTP.
	malformed = regexp.MustCompile(`(malformed (?:HTTP|MIME)[^"]*)"(?:[^"\\]|\\.)*"?`)

	partialSuccess = regexp.MustCompile(`(?s)OTLP partial success: .*\((\d+) ([a-z ]+) rejected\)`)
)

// secretName reports whether the value of an attribute of this name is secret.
func secretName(name string) bool { return secretNameEnd.MatchString(name) }

// withoutAnswer cuts what a server sent out of the errors of the OTLP exporters.
func withoutAnswer(s string) string {
	// otlptracehttp and its siblings: "failed to send to URL: 401 Unauthorized
	// (body: …)" and "retry-able request failure: body: …". The body may contain
	// anything, so nothing after it can be trusted.
	for _, mark := range []string{" (body: ", ": body: "} {
		if i := strings.Index(s, mark); i >= 0 {
			s = s[:i] + " " + serverText
		}
	}
	if strings.HasPrefix(s, "body: ") {
		s = serverText
	}
	if i := strings.Index(s, "OTLP partial success: "); i >= 0 {
		if m := partialSuccess.FindStringSubmatch(s[i:]); m != nil {
			s = s[:i] + "OTLP partial success (" + m[1] + " " + m[2] + " rejected)"
		} else {
			s = s[:i] + "OTLP partial success " + serverText
		}
	}
	s = malformed.ReplaceAllString(s, "${1}"+serverText)
	const code, desc = "rpc error: code = ", " desc = "
	if i := strings.Index(s, code); i >= 0 {
		if j := strings.Index(s[i:], desc); j >= 0 {
			j += i + len(desc)
			own, rest := ownWords(s[j:])
			if own == "" {
				return s[:j-len(desc)] + " " + serverText
			}
			return s[:j] + own + withoutAnswer(rest)
		}
	}
	return s
}

// grpcWords begin the descriptions that grpc-go writes itself, which say what an
// operator needs to know: refused, unresolved, not TLS, too large.
var grpcWords = []string{
	"connection error: ", "transport: ", "name resolver error", "no children to pick from",
	"last resolver error", "latest balancer error", "error reading from server", "unexpected HTTP status code",
	"context deadline exceeded", "context canceled", "the client connection is closing", "grpc: the client connection is closing",
	"stream terminated by RST_STREAM", "closing transport due to", "received context error",
	"received prior goaway", "keepalive ping failed",
	"grpc: received message", "grpc: message after decompression larger", "trying to send message larger",
	"string field contains invalid UTF-8", "grpc: error while marshaling",
}

// ownWords returns the part of a gRPC description that did not come from the
// server, or "", and what follows it on further lines.
func ownWords(desc string) (own, rest string) {
	for _, w := range grpcWords {
		if !strings.HasPrefix(desc, w) {
			continue
		}
		n := strings.Index(desc, "\n")
		if n < 0 {
			n = len(desc)
		}
		own, rest = desc[:n], desc[n:]
		if strings.HasPrefix(rest, "\ndata: ") { // a body that is not gRPC, quoted
			_, rest, _ = strings.Cut(rest[1:], "\n")
			own += " " + serverText
		}
		// Within their own words grpc-go quotes a proxy's answer and the reason
		// a server gave for closing.
		for _, quoted := range []string{`\ndata: `, "response: ", "debug data: ", "content-type "} {
			if i := strings.Index(own, quoted); i >= 0 {
				own = strings.TrimRight(own[:i], ` ;,:\`) + " " + serverText
			}
		}
		return own, rest
	}
	return "", ""
}

// withoutUserInfo takes user and password out of URLs, and out of host:port texts
// that are meant as one.
func withoutUserInfo(s string) string {
	if !strings.Contains(s, "@") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "://")
		if i < 0 {
			break
		}
		i += len("://")
		b.WriteString(wordsWithoutUserInfo(s[:i]))
		s = s[i:]
		s = s[userInfo(s):]
		// What follows belongs to the path and may hold an @ of its own.
		n := endOfWord(s)
		if next := strings.Index(s[:n], "://"); next >= 0 {
			n = next
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	b.WriteString(wordsWithoutUserInfo(s))
	return b.String()
}

const wordEnds = " \t\r\n\"'`<>,"

func endOfWord(s string) int {
	if n := strings.IndexAny(s, wordEnds); n >= 0 {
		return n
	}
	return len(s)
}

// userInfo returns the length of the user-info, with its @, at the beginning of
// an authority. A password may hold characters that no URL may, and then the text
// is in an error about exactly that: with an @ in front of the path, the last one
// of the word counts, and when what looks like the port is not a number, the last
// one of the line.
func userInfo(s string) int {
	word := s[:endOfWord(s)]
	authority := word
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	if strings.Contains(authority, "@") {
		return strings.LastIndexByte(word, '@') + 1
	}
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.HasPrefix(authority, "[") || number(authority[i+1:]) {
		return 0
	}
	line, _, _ := strings.Cut(s, "\n")
	return strings.LastIndexByte(line, '@') + 1
}

// wordsWithoutUserInfo handles user:password@host without a scheme.
func wordsWithoutUserInfo(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		n := endOfWord(s)
		word := s[:n]
		if at := strings.LastIndexByte(word, '@'); at >= 0 && strings.Contains(word[:at], ":") {
			keep := strings.IndexAny(word[:at], "=(") + 1
			word = word[:keep] + word[at+1:]
		}
		b.WriteString(word)
		if n < len(s) {
			b.WriteByte(s[n])
			n++
		}
		s = s[n:]
	}
	return b.String()
}

func number(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}
