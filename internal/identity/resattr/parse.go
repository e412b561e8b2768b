package resattr

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// EnvVar is the variable that carries resource attributes to a process.
const EnvVar = "OTEL_RESOURCE_ATTRIBUTES"

// Parse reads every pair of text: key trimmed, value trimmed and then
// percent-decoded; a malformed escape stays as it is and "+" is a plus. Of a key
// given twice the last value wins, at the place of the first. A piece that is
// no pair costs itself and nothing else: it is skipped and named in a warning.
func Parse(text string) (attrs []attribute.KeyValue, warnings []string) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var l list
	for piece := range strings.SplitSeq(text, ",") {
		key, value, ok := cutPair(piece)
		if !ok {
			warnings = append(warnings, describeBad(piece))
			continue
		}
		l.set(attribute.String(toValidUTF8(key), unescape(value)))
	}
	return l.attrs, warnings
}

func cutPair(piece string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(piece, "=")
	key = strings.TrimSpace(key)
	return key, strings.TrimSpace(value), ok && key != ""
}

func describeBad(piece string) string {
	switch piece = strings.TrimSpace(piece); {
	case piece == "":
		return EnvVar + " has an empty item (a stray comma); it is skipped"
	case strings.HasPrefix(piece, "="):
		return EnvVar + " has an item without a key; it is skipped: want key=value"
	default:
		return fmt.Sprintf("%s item %s is skipped: want key=value; a comma inside a value is written %%2C", EnvVar, envtext.Quote(piece))
	}
}

// unescape decodes %XX where both digits are hexadecimal.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return toValidUTF8(s)
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			high, ok1 := unhex(s[i+1])
			low, ok2 := unhex(s[i+2])
			if ok1 && ok2 {
				out = append(out, high<<4|low)
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return toValidUTF8(string(out))
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// toValidUTF8 replaces each bad byte by one U+FFFD.
func toValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
