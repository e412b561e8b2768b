package settings

import (
	"fmt"
	"io"
	"strings"
)

// Header is sent with every export. It prints as its key alone.
type Header struct {
	Key   string
	Value string `json:"-"`
}

// Format writes the key and not the value, whatever the verb.
func (h Header) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, h.Key+"=[REDACTED]") }

// MarshalText writes the key and not the value.
func (h Header) MarshalText() ([]byte, error) { return []byte(h.Key + "=[REDACTED]"), nil }

// ParseHeaders reads a list like "key1=value1,key2=value2". Keys and values are
// trimmed, and then values are percent-decoded: a plus is a plus, a blank within a
// value stays, a further = belongs to the value, and a comma is written %2C. A % that
// starts no escape stays, with a warning. Of a key given twice, in any case, the last
// value wins, at the place of the first.
//
// An item that is no pair, a key that is no header name, a key that the protocol
// needs itself and a value that cannot be sent cost that item, with a warning.
// Warnings name the variable and the key, or where the key is doubtful the
// position, and nothing of a value.
func ParseHeaders(variable, text string, protocol Protocol) ([]Header, []Warning) {
	var out []Header
	var warnings []Warning
	warn := func(format string, args ...any) {
		warnings = append(warnings, Warning("lens: "+variable+": "+fmt.Sprintf(format, args...)))
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		where := fmt.Sprintf("item %d of %d", i+1, len(items))
		if strings.TrimSpace(item) == "" {
			if len(items) > 1 && i < len(items)-1 { // one at the end is common and harmless
				warn("%s is empty (a stray comma)", where)
			}
			continue
		}
		key, raw, ok := strings.Cut(item, "=")
		if !ok {
			warn("%s is skipped: want key=value, not key: value; a comma inside a value is written %%2C", where)
			continue
		}
		key = strings.TrimSpace(key)
		if !isToken(key) {
			warn("%s is skipped: what stands before its = is not a header name", where)
			continue
		}
		if isPlainKey(key) {
			where = fmt.Sprintf("header %q", key)
		}
		h := Header{Key: key}
		h.Value, ok = unescape(strings.TrimSpace(raw))
		if !ok {
			warn("%s has a %% that starts no escape; it is sent as it stands (write %%25 for a %%)", where)
		}
		if why := unsendable(h, protocol); why != "" {
			warn("%s is skipped: %s", where, why)
			continue
		}
		out = setHeader(out, h)
	}
	return out, warnings
}

func setHeader(list []Header, h Header) []Header {
	for i := range list {
		if strings.EqualFold(list[i].Key, h.Key) {
			list[i] = h
			return list
		}
	}
	return append(list, h)
}

// unsendable says why the protocol does not carry h, or nothing.
func unsendable(h Header, protocol Protocol) string {
	key := strings.ToLower(h.Key)
	switch key {
	case "content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "host", "te", "trailer", "upgrade":
		return "the protocol sets it itself"
	}
	if protocol == GRPC {
		switch {
		case key == "user-agent" || strings.HasPrefix(key, "grpc-"):
			return "gRPC sets it itself"
		case !isMetadataKey(key):
			return "gRPC takes only letters, digits, -, _ and . in a key"
		case strings.HasSuffix(key, "-bin"):
			return "" // sent in base64
		}
	}
	for i := range len(h.Value) {
		c := h.Value[i]
		switch {
		case c >= 0x80 && protocol == GRPC:
			return "its value is not ASCII, which gRPC does not carry"
		case c == '\t' && protocol != GRPC:
		case c < ' ' || c == 0x7f:
			return "its value holds a control character"
		}
	}
	return ""
}

// unescape decodes %XX; what is no such escape stays.
func unescape(s string) (out string, ok bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	ok = true
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			if i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
				b = append(b, hex(s[i+1])<<4|hex(s[i+2]))
				i += 2
				continue
			}
			ok = false
		}
		b = append(b, s[i])
	}
	return string(b), ok
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func hex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

// isToken reports whether s is a name of a header (RFC 9110, token).
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isPlainKey reports whether key looks like a header and not like a piece of a
// value that was cut at a comma.
func isPlainKey(key string) bool { return len(key) <= 48 && isMetadataKey(strings.ToLower(key)) }

func isMetadataKey(key string) bool {
	for i := range len(key) {
		if c := key[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return key != ""
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
