// Package jsonscan reads JSON in one pass over bytes in memory, without
// allocating and without building values: the caller asks for what it knows and
// skips the rest. It is several times faster than encoding/json, which is what a
// reader of gigabytes of spans needs. It accepts a little more than JSON where
// checking would cost time (control characters in text, numbers such as 01), and
// never less.
package jsonscan

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is that of encoding/json.
const maxDepth = 10000

// Kind is what a value is, told from its first byte.
type Kind byte

// The kinds of values. Invalid is also the end of the input.
const (
	Invalid Kind = iota
	Object
	Array
	String
	Number
	Bool
	Null
)

// Scanner reads one text. The zero value reads nothing; Reset gives it a text.
// It is not safe for concurrent use. After an error every method gives zero
// values, so that only Err has to be asked at the end.
type Scanner struct {
	data  []byte
	pos   int
	depth int
	err   error
	buf   []byte // of the last text with escapes
}

// SyntaxError says where a text stops being JSON. Offset counts bytes.
type SyntaxError struct {
	Offset int
	What   string
	Cut    bool // the text ended too early
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.What, e.Offset) }

// Reset begins data, which must stay unchanged while it is read.
func (s *Scanner) Reset(data []byte) { s.data, s.pos, s.depth, s.err = data, 0, 0, nil }

// Err is the first error.
func (s *Scanner) Err() error { return s.err }

// Pos is the offset of the next byte to be read.
func (s *Scanner) Pos() int { return s.pos }

// Seek goes to an offset that Pos gave for the same text.
func (s *Scanner) Seek(pos int) { s.pos = pos }

// Since is the text from an offset that Pos gave to the next byte.
func (s *Scanner) Since(pos int) []byte { return bytes.TrimSpace(s.data[pos:s.pos]) }

func (s *Scanner) fail(what string) {
	if s.err != nil {
		return
	}
	e := &SyntaxError{Offset: s.pos, What: what}
	if s.pos >= len(s.data) {
		e.What, e.Cut = "the text ends too early", true
	}
	s.err = e
	s.pos = len(s.data)
}

// space goes to the next byte that is none and returns it, or 0 at the end.
func (s *Scanner) space() byte {
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if c > ' ' {
			return c
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
		s.pos++
	}
	return 0
}

// Kind tells what the next value is.
func (s *Scanner) Kind() Kind {
	if s.err != nil {
		return Invalid
	}
	switch c := s.space(); {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == '-' || c >= '0' && c <= '9':
		return Number
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	}
	return Invalid
}

// Fields calls field for each member of the next object, with its name, which
// is valid until the call returns. field must read or skip the value. A null is
// an object without members; anything else is an error.
func (s *Scanner) Fields(field func(name []byte)) {
	if !s.open('{', "an object was expected") {
		return
	}
	if s.space() == '}' {
		s.close()
		return
	}
	for s.err == nil {
		if s.space() != '"' {
			s.fail("a name was expected")
			return
		}
		name := s.text()
		if s.space() != ':' {
			s.fail("a colon was expected")
			return
		}
		s.pos++
		before := s.pos
		field(name)
		if s.err == nil && s.pos == before {
			s.Skip()
		}
		if !s.more('}') {
			return
		}
	}
}

// Elements calls element for each member of the next array; it must read or
// skip it. A null is an empty array; anything else is an error.
func (s *Scanner) Elements(element func()) {
	if !s.open('[', "a list was expected") {
		return
	}
	if s.space() == ']' {
		s.close()
		return
	}
	for s.err == nil {
		before := s.pos
		element()
		if s.err == nil && s.pos == before {
			s.Skip()
		}
		if !s.more(']') {
			return
		}
	}
}

func (s *Scanner) open(bracket byte, otherwise string) bool {
	if s.err != nil {
		return false
	}
	switch s.space() {
	case bracket:
	case 'n':
		s.literal("null")
		return false
	default:
		s.fail(otherwise)
		return false
	}
	if s.depth++; s.depth > maxDepth {
		s.fail("too deep a nesting")
		return false
	}
	s.pos++
	return true
}

func (s *Scanner) close() { s.depth--; s.pos++ }

func (s *Scanner) more(bracket byte) bool {
	if s.err != nil {
		return false
	}
	switch s.space() {
	case ',':
		s.pos++
		s.space()
		return true
	case bracket:
		s.close()
		return false
	}
	s.fail("a comma or a closing bracket was expected")
	return false
}

// Text reads the next text, without its escapes. The result is valid until the
// next call. A null is empty; anything else is an error.
func (s *Scanner) Text() []byte {
	if s.err != nil {
		return nil
	}
	switch s.space() {
	case '"':
		return s.text()
	case 'n':
		s.literal("null")
		return nil
	}
	s.fail("a text was expected")
	return nil
}

func (s *Scanner) text() []byte {
	start := s.pos + 1
	rest := s.data[start:]
	end := bytes.IndexByte(rest, '"')
	if end >= 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
		s.pos = start + end + 1
		return rest[:end]
	}
	return s.unescape(start)
}

func (s *Scanner) unescape(i int) []byte {
	out := s.buf[:0]
	for i < len(s.data) {
		c := s.data[i]
		switch {
		case c == '"':
			s.pos, s.buf = i+1, out
			return out
		case c != '\\':
			out = append(out, c)
			i++
			continue
		case i+1 >= len(s.data):
			i = len(s.data)
			continue
		}
		switch c = s.data[i+1]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case '"', '\\', '/':
		case 'u':
			r, n := s.rune(i)
			if n == 0 {
				s.pos = min(i, len(s.data))
				s.fail("an escape is not complete")
				return nil
			}
			out = utf8.AppendRune(out, r)
			i += n
			continue
		default:
			s.pos = i
			s.fail("an unknown escape")
			return nil
		}
		out = append(out, c)
		i += 2
	}
	s.pos = len(s.data)
	s.fail("")
	return nil
}

// rune reads \uXXXX at i, with its second half when it is half of a pair, and
// returns its length; 0 when it is none.
func (s *Scanner) rune(i int) (rune, int) {
	r, ok := hex4(s.data, i+2)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if i+7 < len(s.data) && s.data[i+6] == '\\' && s.data[i+7] == 'u' {
			if low, ok := hex4(s.data, i+8); ok {
				if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
					return both, 12
				}
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

func hex4(data []byte, i int) (r rune, ok bool) {
	if i+4 > len(data) {
		return 0, false
	}
	for _, c := range data[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Int reads the next number, which may also be written as a text, as OTLP does
// with 64-bit numbers. What is no whole number in the range is an error.
func (s *Scanner) Int() int64 {
	start := s.pos
	digits := s.digits()
	if s.err != nil || len(digits) == 0 {
		return 0
	}
	var n uint64
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return s.slowInt(start, digits, negative)
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return s.slowInt(start, digits, negative)
		}
		n = n*10 + uint64(c-'0')
	}
	if negative {
		return -int64(n)
	}
	return int64(n)
}

// slowInt takes what is rare: very large numbers, and 1e3.
func (s *Scanner) slowInt(start int, digits []byte, negative bool) int64 {
	text := string(digits)
	if negative {
		text = "-" + text
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == float64(int64(f)) && f > -9e18 && f < 9e18 {
		return int64(f)
	}
	s.pos = start
	s.fail("a whole number was expected")
	return 0
}

// digits are the bytes of a number.
func (s *Scanner) digits() []byte {
	if s.err != nil {
		return nil
	}
	switch c := s.space(); {
	case c == '"':
		return s.text()
	case c == 'n':
		s.literal("null")
		return nil
	case c == '-' || c >= '0' && c <= '9':
		start := s.pos
		s.number()
		return s.data[start:s.pos]
	}
	s.fail("a number was expected")
	return nil
}

func (s *Scanner) number() {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			s.pos++
		default:
			return
		}
	}
}

func (s *Scanner) literal(word string) {
	end := s.pos + len(word)
	if end > len(s.data) || string(s.data[s.pos:end]) != word {
		if end > len(s.data) && bytes.HasPrefix([]byte(word), s.data[s.pos:]) {
			s.pos = len(s.data)
		}
		s.fail("an unknown word")
		return
	}
	s.pos = end
}

// Skip passes over the next value.
func (s *Scanner) Skip() {
	if s.err != nil {
		return
	}
	switch c := s.space(); {
	case c == '"':
		s.skipText()
	case c == '{' || c == '[':
		s.skipNested()
	case c == 't':
		s.literal("true")
	case c == 'f':
		s.literal("false")
	case c == 'n':
		s.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	default:
		s.fail("a value was expected")
	}
}

func (s *Scanner) skipText() {
	i := s.pos + 1
	for {
		end := bytes.IndexByte(s.data[i:], '"')
		if end < 0 {
			s.pos = len(s.data)
			s.fail("")
			return
		}
		end += i
		escapes := 0
		for end-1-escapes >= i && s.data[end-1-escapes] == '\\' {
			escapes++
		}
		i = end + 1
		if escapes%2 == 0 {
			s.pos = i
			return
		}
	}
}

// skipNested passes over brackets by counting them, which is enough to find the
// end of what is well formed, and finds most of what is not.
func (s *Scanner) skipNested() {
	depth := 0
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"':
			s.skipText()
			if s.err != nil {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				s.pos++
				return
			}
		}
		s.pos++
	}
	s.fail("")
}

// End checks that nothing but white space follows.
func (s *Scanner) End() {
	if s.err == nil && (s.space() != 0 || s.pos < len(s.data)) {
		s.fail("more text after the value")
	}
}
