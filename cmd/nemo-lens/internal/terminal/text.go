package terminal

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Clean takes out of text what would move the cursor or colour the terminal: it
// comes from a file that anybody may have written.
func (s Style) Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case !unicode.IsPrint(r):
			return s.replacement()
		case s.ASCII && r > unicode.MaxASCII:
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, string(s.replacement())))
}

func (s Style) replacement() rune {
	if s.ASCII {
		return '?'
	}
	return unicode.ReplacementChar
}

// Columns is how many columns text takes.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	if unicode.Is(unicode.Mn, r) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Fit makes text take exactly n columns: cut with an ellipsis, or filled up with
// blanks on the right.
func (s Style) Fit(text string, n int) string {
	have := Columns(text)
	if have > n {
		text = s.Cut(text, n)
		have = Columns(text)
	}
	return text + strings.Repeat(" ", max(0, n-have))
}

// Cut makes text take at most n columns.
func (s Style) Cut(text string, n int) string {
	if Columns(text) <= n {
		return text
	}
	mark := s.Ellipsis()
	room := n - Columns(mark)
	if room < 0 {
		return strings.Repeat(".", max(0, n))
	}
	var out strings.Builder
	for _, r := range text {
		if room -= columns(r); room < 0 {
			break
		}
		out.WriteRune(r)
	}
	return out.String() + mark
}

// Ellipsis stands for what is left out.
func (s Style) Ellipsis() string {
	if s.ASCII {
		return ".."
	}
	return "…"
}

// Duration writes nanoseconds with four digits and a unit.
func (s Style) Duration(ns int64) string {
	sign := ""
	f := float64(ns)
	if ns < 0 {
		sign, f = "-", -f
	}
	micro := "µs"
	if s.ASCII {
		micro = "us"
	}
	switch {
	case ns == 0:
		return "0"
	case f < 999.5:
		return sign + strconv.FormatFloat(f, 'f', 0, 64) + "ns"
	case f < 999.95e3:
		return sign + digits(f/1e3) + micro
	case f < 999.95e6:
		return sign + digits(f/1e6) + "ms"
	case f < 120e9:
		return sign + digits(f/1e9) + "s"
	case f < 7200e9:
		return sign + strconv.Itoa(int(f/60e9)) + "m" + pad2(int(f/1e9)%60) + "s"
	}
	return sign + strconv.Itoa(int(f/3600e9)) + "h" + pad2(int(f/60e9)%60) + "m"
}

// digits keeps four digits of a number below 1000.
func digits(f float64) string {
	decimals := 3
	switch {
	case f >= 99.995:
		decimals = 1
	case f >= 9.9995:
		decimals = 2
	}
	return strconv.FormatFloat(f, 'f', decimals, 64)
}

func pad2(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// Count writes a number with a blank between groups of three digits from five
// digits on.
func Count(n int64) string {
	text := strconv.FormatInt(n, 10)
	if len(text) <= 4 || n < 0 {
		return text
	}
	var out strings.Builder
	for i, c := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			out.WriteByte(' ')
		}
		out.WriteRune(c)
	}
	return out.String()
}
