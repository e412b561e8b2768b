// Package terminal writes text that fits where it goes: the width of the
// terminal, the characters that it shows, and colour only where somebody sees it.
package terminal

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// MinWidth is the least number of columns that the views are laid out for.
const MinWidth = 40

// defaultWidth is for output that goes to no terminal.
const defaultWidth = 100

// Style is how text is written. The zero value has no width: see Detect.
type Style struct {
	Width  int // columns
	Height int // lines, 0 when it is no terminal
	Color  bool
	ASCII  bool
}

// Detect finds out what out can show. The environment has its say: NO_COLOR,
// TERM=dumb, and the locale in LC_ALL, LC_CTYPE or LANG.
func Detect(out io.Writer, env func(string) string) Style {
	s := Style{Width: defaultWidth}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			s.Width, s.Height = w, h
		}
		s.Color = env("NO_COLOR") == "" && env("TERM") != "dumb"
	}
	if w, err := strconv.Atoi(env("COLUMNS")); err == nil && w > 0 && s.Height == 0 {
		s.Width = w
	}
	s.ASCII = !utf8Locale(env)
	return s
}

func utf8Locale(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	// Windows says nothing of the kind; elsewhere no locale means plain ASCII.
	return os.PathSeparator == '\\'
}

// Colours of text and bars.
const (
	Bold  = "1"
	Faint = "2"
	Red   = "31"
)

// Paint wraps text in a colour when there are colours.
func (s Style) Paint(code, text string) string {
	if !s.Color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
