package trace

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// FormatError says that an input holds no spans at all.
type FormatError struct {
	What   string // it looks like
	Detail string // where reading stopped, may be empty
	Empty  bool
}

func (e *FormatError) Error() string {
	if e.Empty {
		return e.What
	}
	text := "no spans: it looks like " + e.What
	if e.Detail != "" {
		text += " (line " + e.Detail + ")"
	}
	return text
}

// describe says what the beginning of a file looks like.
func describe(head []byte) string {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	has := func(prefix string) bool { return bytes.HasPrefix(text, []byte(prefix)) }
	switch {
	case has("\x28\xb5\x2f\xfd"):
		return "a zstd file: unpack it first, for example with zstd -d"
	case has("\x7fELF"), has("MZ"), has("\xcf\xfa\xed\xfe"):
		return "a program"
	case has("PK\x03\x04"):
		return "a zip file: unpack it first"
	case len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff):
		return "UTF-16 text: convert it to UTF-8 first, for example with iconv"
	case has("<"):
		return "HTML or XML"
	case bytes.Contains(text, []byte(`"traceEvents"`)):
		return "a Chrome or Perfetto trace: nemo-lens view writes those and does not read them"
	case bytes.Contains(text, []byte(`"process_name"`)), bytes.Contains(text, []byte(`"ph":`)):
		return "a Chrome or Perfetto trace: nemo-lens view writes those and does not read them"
	case bytes.Contains(text, []byte(`"traceID"`)) && bytes.Contains(text, []byte(`"processes"`)):
		return "Jaeger's JSON: view reads OTLP JSON lines and the console exporter's output"
	case has("{\n"), has("{\r\n"), has("[\n"), has("[{"):
		return "JSON that is not one object a line: write it that way, for example with jq -c"
	case has("{"):
		return fmt.Sprintf("JSON of another kind, starting with %s", quote(text))
	case !utf8.Valid(cutRune(text)) || bytes.IndexByte(text, 0) >= 0:
		return "binary data (" + strings.TrimSuffix(http.DetectContentType(head), "; charset=utf-8") + ")"
	}
	return "text, starting with " + quote(text)
}

// cutRune drops a rune at the end that is not complete.
func cutRune(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-n:]) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

func quote(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	const most = 40
	if len(text) > most {
		return fmt.Sprintf("%q…", cutRune(text[:most]))
	}
	return fmt.Sprintf("%q", text)
}
