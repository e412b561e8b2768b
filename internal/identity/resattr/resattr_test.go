package resattr

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

func str(pairs ...string) (out []attribute.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, attribute.String(pairs[i], pairs[i+1]))
	}
	return out
}

func TestParseKeepsWhatIsGood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []attribute.KeyValue
		warn []string // what the warnings must mention, in order
	}{
		{"service.name=trainer,,team=x", str("service.name", "trainer", "team", "x"), []string{"empty item"}},
		{"service.name=trainer,oops,team=x", str("service.name", "trainer", "team", "x"), []string{`"oops"`}},
		{"a=1,=x", str("a", "1"), []string{"without a key"}},
		{" a = b c , b=%e4%", str("a", "b c", "b", "\ufffd%"), nil},
		{"a=%ff%fe,b=\xff", str("a", "\ufffd\ufffd", "b", "\ufffd"), nil},
		{"  ", nil, nil},
		{"a=b=c", str("a", "b=c"), nil},
		{strings.Repeat("x", 5000), nil, []string{strings.Repeat("x", 40) + "..."}},
	} {
		got, warnings := Parse(c.text)
		if !slices.Equal(got, c.want) {
			t.Errorf("Parse(%q) = %v, want %v", c.text, got, c.want)
		}
		if len(warnings) != len(c.warn) {
			t.Errorf("Parse(%q): warnings %q, want %q", c.text, warnings, c.warn)
			continue
		}
		for i := range warnings {
			if !strings.Contains(warnings[i], c.warn[i]) || len(warnings[i]) > 200 {
				t.Errorf("Parse(%q): warning %q does not mention %q in a line", c.text, warnings[i], c.warn[i])
			}
		}
	}
}

func TestFormatNamesWhatItDrops(t *testing.T) {
	t.Parallel()
	text, warnings := Format([]attribute.KeyValue{
		attribute.String("ok", "v"), attribute.String("bad\xff", "v"), attribute.String("bytes", "\xff"),
		attribute.StringSlice("list", []string{"a"}), attribute.String("nul\x00", "v"), attribute.String(" ", "v"),
		attribute.String("a,b", "v"), {Key: "null"}, attribute.String("ok", "again"), attribute.String("secret\xff", "hunter2"),
	})
	if text != "ok=again" || len(warnings) != 7 {
		t.Errorf("got %q with %d warnings, want ok=again with 7: %q", text, len(warnings), warnings)
	}
	for _, name := range []string{"list", "bytes", "a,b"} {
		if !strings.Contains(strings.Join(warnings, "\n"), name) {
			t.Errorf("no warning names %s: %q", name, warnings)
		}
	}
	if strings.Contains(strings.Join(warnings, "\n"), "hunter2") {
		t.Errorf("a warning shows a value: %q", warnings)
	}
}

func TestComposeExtend(t *testing.T) {
	t.Parallel()
	got := Compose(str("a", "current", "b", "current"), str("a", "default", "c", ""), str("b", "", "d", "over"))
	if want := str("a", "current", "c", "", "b", "", "d", "over"); !slices.Equal(got, want) {
		t.Errorf("Compose = %v, want %v", got, want)
	}
	text, warnings := Extend("a=1,bad", nil, []attribute.KeyValue{attribute.StringSlice("l", nil)})
	if text != "a=1" || len(warnings) != 2 {
		t.Errorf("Extend = %q, %q, want a=1 and two warnings", text, warnings)
	}
}

func TestEnvironIsPure(t *testing.T) {
	t.Parallel()
	env := []string{"A=1", EnvVar + "=old=1", EnvVar + "=team=x,nemo.run.id=old", "B=2"}
	before := slices.Clone(env)
	got := Environ(env, str("nemo.run.id", "r,1"))
	if want := []string{"A=1", "B=2", EnvVar + "=team=x,nemo.run.id=r%2C1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Environ(env, nil); !slices.Equal(got, before) {
		t.Errorf("without attributes: %q, want %q", got, before)
	}
	if got := Environ([]string{"A=1"}, []attribute.KeyValue{{Key: "null"}}); !slices.Equal(got, []string{"A=1"}) {
		t.Errorf("nothing to write: %q", got)
	}
	if !slices.Equal(env, before) {
		t.Errorf("the argument became %q", env)
	}
}

func TestPublishNestsAndRestores(t *testing.T) {
	t.Setenv(EnvVar, "placeholder") // restores what the test run had
	if err := os.Unsetenv(EnvVar); err != nil {
		t.Fatal(err)
	}
	outer, _, err := Publish(str("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	inner, _, err := Publish(str("b", "2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		do     func()
		want   string
		exists bool
	}{
		{func() {}, "b=2", true}, {inner, "a=1", true}, {inner, "a=1", true}, {outer, "", false}, {inner, "", false},
	} {
		step.do()
		if got, ok := os.LookupEnv(EnvVar); got != step.want || ok != step.exists {
			t.Errorf("%s=%q (%t), want %q (%t)", EnvVar, got, ok, step.want, step.exists)
		}
	}
}

// A real child process reads what its parent published, with the OpenTelemetry
// SDK and with Parse.
func TestChildProcessSeesAttributes(t *testing.T) {
	const marker = "LENS_TEST_RESATTR_CHILD"
	if os.Getenv(marker) != "" {
		res, err := resource.New(context.Background(), resource.WithFromEnv())
		if err != nil {
			t.Fatal(err)
		}
		attrs, warnings := Parse(os.Getenv(EnvVar))
		typed, _ := Normalise(attrs)
		for _, set := range [][]attribute.KeyValue{res.Attributes(), typed} {
			for _, kv := range set {
				fmt.Printf("%s|%s|%s\n", kv.Key, kv.Value.Type(), kv.Value.String())
			}
		}
		fmt.Println("warnings", len(warnings))
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildProcessSeesAttributes$")
	cmd.Env = Environ(append(os.Environ(), marker+"=1"), []attribute.KeyValue{
		attribute.String("nemo.run.id", "exp/1,seed=7 é"), attribute.Int("nv.dl.rank", 3),
	})
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"nv.dl.rank|STRING|3\n", "nv.dl.rank|INT64|3\n", "warnings 0\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the child did not print %q:\n%s", want, out)
		}
	}
	if n := strings.Count(string(out), "nemo.run.id|STRING|exp/1,seed=7 é\n"); n != 2 {
		t.Errorf("the run id arrived %d times, want 2:\n%s", n, out)
	}
}

// The 14 integer fields survive a process boundary as integers; other digits
// stay text.
func TestIntegersSurviveTheEnvironment(t *testing.T) {
	t.Parallel()
	in := str("nemo.run.id", "007")
	for key := range integerKeys {
		in = append(in, key.Int(42))
	}
	text, warnings := Format(in)
	parsed, bad := Parse(text)
	out, stay := Normalise(parsed)
	if len(integerKeys) != 14 || !slices.Equal(out, in) || len(warnings)+len(bad)+len(stay) != 0 {
		t.Errorf("got %v, want %v; warnings %q %q %q", out, in, warnings, bad, stay)
	}
}

func FuzzParse(f *testing.F) {
	v := load(f)
	for _, c := range v.Parse.Cases {
		f.Add(c.Value)
	}
	f.Fuzz(func(t *testing.T, text string) {
		attrs, warnings := Parse(text)
		seen := map[attribute.Key]bool{}
		for _, kv := range attrs {
			if kv.Key == "" || seen[kv.Key] || !utf8.ValidString(string(kv.Key)) || !utf8.ValidString(kv.Value.AsString()) {
				t.Fatalf("Parse(%q) gives %v", text, kv)
			}
			seen[kv.Key] = true
		}
		if pieces := strings.Count(text, ",") + 1; len(attrs)+len(warnings) > pieces {
			t.Fatalf("more findings than pieces in %q", text)
		}
		formatted, dropped := Format(attrs)
		if len(dropped) > 0 { // only a NUL byte can be in a parsed key
			if !strings.Contains(text, "\x00") {
				t.Fatalf("Format(Parse(%q)) drops %q", text, dropped)
			}
			return
		}
		again, bad := Parse(formatted)
		if len(bad) > 0 || !slices.Equal(again, attrs) {
			t.Fatalf("%q reads as %v, its canonical form %q as %v (%q)", text, attrs, formatted, again, bad)
		}
	})
}

func FuzzFormat(f *testing.F) {
	f.Add("nemo.run.id", "exp/2026-01,seed=7", int64(3), 1.5)
	f.Add(" a ", "!*'();:@&+$/?#[]%\"", int64(-1), 1e100)
	f.Add("k=weird", "\xff", int64(0), 1e-7)
	f.Fuzz(func(t *testing.T, key, value string, n int64, x float64) {
		text, warnings := Format([]attribute.KeyValue{attribute.String(key, value), attribute.Int64("n_", n), attribute.Float64("x_", x)})
		if strings.ContainsAny(text, " \x00\n\"") && !strings.ContainsAny(key, " \x00\n\"") {
			t.Fatalf("Format leaves %q unescaped", text)
		}
		attrs, bad := Parse(text)
		if len(bad) > 0 {
			t.Fatalf("Format writes %q, which Parse rejects: %q", text, bad)
		}
		trimmed := strings.TrimSpace(key)
		if len(warnings) > 0 || trimmed == "n_" || trimmed == "x_" {
			return
		}
		if len(attrs) != 3 || string(attrs[0].Key) != trimmed || attrs[0].Value.AsString() != value {
			t.Fatalf("%q=%q came back as %v through %q", key, value, attrs, text)
		}
	})
}
