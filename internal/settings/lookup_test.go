package settings

import (
	"strings"
	"testing"
)

// env is a look-up over a map.
func env(m map[string]string) Lookup {
	return func(name string) (string, bool) {
		text, ok := m[name]
		return text, ok
	}
}

// wantWarning checks that exactly one warning holds all the parts, or, without
// parts, that there is none.
func wantWarning(t *testing.T, warnings []Warning, parts ...string) {
	t.Helper()
	if len(parts) == 0 {
		if len(warnings) > 0 {
			t.Errorf("unexpected warnings %q", warnings)
		}
		return
	}
	found := 0
	for _, w := range warnings {
		all := strings.HasPrefix(string(w), "lens: ")
		for _, p := range parts {
			all = all && strings.Contains(string(w), p)
		}
		if all {
			found++
		}
	}
	if found != 1 {
		t.Errorf("want one warning with %q, got %q", parts, warnings)
	}
}

// parseAll calls every function of the package that reads variables.
func parseAll(lookup Lookup) (warnings []Warning, err error) {
	add := func(w []Warning) { warnings = append(warnings, w...) }
	for _, s := range []Signal{Traces, Metrics, Logs} {
		_, w, e := ParseOTLP(s, nil, lookup)
		add(w)
		if e != nil {
			err = e
		}
		_, w = ParseExporter(s, lookup)
		add(w)
	}
	sampler, w := ParseSampler(lookup)
	_ = sampler.SDK()
	add(w)
	propagators, w := ParsePropagators(lookup)
	_ = propagators.TextMap()
	add(w)
	_, w = ParseBatch(lookup)
	add(w)
	_, w = ParseLogBatch(lookup)
	add(w)
	_, w = ParseSpanLimits(lookup)
	add(w)
	_, w = SDKDisabled(lookup)
	add(w)
	_, w = ResourceAttributes(lookup)
	add(w)
	_, w = MetricInterval(lookup)
	add(w)
	_, w = MetricTimeout(lookup)
	add(w)
	_, w = TemporalityPreference(lookup)
	add(w)
	_, w = HistogramAggregation(lookup)
	add(w)
	return warnings, err
}

func TestVariablesAreWhatIsRead(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	if _, err := parseAll(func(name string) (string, bool) { read[name] = true; return "", false }); err != nil {
		t.Fatal(err)
	}
	for _, name := range allVariables() {
		if !read[name] {
			t.Errorf("%s is listed and not read", name)
		}
		delete(read, name)
	}
	for name := range read {
		t.Errorf("%s is read and not listed", name)
	}
}

// Blank text in every variable is the same as no variable (C14).
func TestBlankIsUnset(t *testing.T) {
	t.Parallel()
	for _, blank := range []string{"", "  ", "\t\n", `""`, "' '"} {
		warnings, err := parseAll(func(string) (string, bool) { return blank, true })
		if err != nil || len(warnings) > 0 {
			t.Errorf("%q: error %v, warnings %q", blank, err, warnings)
		}
		o, _, _ := ParseOTLP(Traces, nil, func(string) (string, bool) { return blank, true })
		if def, _, _ := ParseOTLP(Traces, nil, env(nil)); o.Endpoint != def.Endpoint || o.Names != def.Names {
			t.Errorf("%q: got %+v, want %+v", blank, o, def)
		}
	}
}

// Each variable, set to what nobody means, gives a warning or an error that names it
// (C6, C13, C14, C15).
func TestJunkIsNamed(t *testing.T) {
	t.Parallel()
	const junk = "ju nk"
	for _, name := range allVariables() {
		if strings.HasSuffix(name, "CERTIFICATE") {
			continue // files are opened by the exporter
		}
		warnings, err := parseAll(env(map[string]string{name: junk}))
		text := ""
		for _, w := range warnings {
			text += string(w)
		}
		if err != nil {
			text += err.Error()
		}
		if !strings.Contains(text, name) {
			t.Errorf("%s=%s: nothing said about it, but %q", name, junk, text)
		}
	}
}
