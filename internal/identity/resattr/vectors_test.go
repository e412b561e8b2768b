package resattr

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
)

// object is a JSON object in the order of its text.
type object []attribute.KeyValue

func (o *object) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	first, err := dec.Token()
	if err != nil || first == nil {
		return err
	}
	*o = object{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		value, err := dec.Token()
		if err != nil {
			return err
		}
		*o = append(*o, attribute.KeyValue{Key: attribute.Key(key.(string)), Value: toValue(value)})
	}
	return nil
}

// toValue keeps the difference between 1 and 1.0; null has no value.
func toValue(token any) attribute.Value {
	switch v := token.(type) {
	case string:
		return attribute.StringValue(v)
	case bool:
		return attribute.BoolValue(v)
	case json.Number:
		if n, err := v.Int64(); err == nil && !strings.ContainsAny(v.String(), ".eE") {
			return attribute.Int64Value(n)
		}
		f, err := v.Float64()
		if err != nil {
			panic(err)
		}
		return attribute.Float64Value(f)
	}
	return attribute.Value{}
}

type scalar struct{ attribute.Value }

func (s *scalar) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	token, err := dec.Token()
	s.Value = toValue(token)
	return err
}

type suite[T any] struct{ Cases []T }

type parseCase struct {
	Value  string
	Expect map[string]string
}

type formatCase struct {
	Attributes object
	Expect     string
}

type extendCase struct {
	Value               string
	Defaults, Overrides object
	Expect              string
}

type integerCase struct {
	Key           string
	Value, Expect scalar
	Warns         bool
}

type vectors struct {
	Parse    suite[parseCase]  `json:"otel_resource_attributes_parse_nightly"`
	Format   suite[formatCase] `json:"otel_resource_attributes_format_nightly"`
	ExtendV2 suite[extendCase] `json:"otel_resource_attributes_extend_v2_nightly"`
	Integers struct {
		suite[integerCase]
		Keys []attribute.Key `json:"integer_keys"`
	} `json:"resource_integer_normalisation_nightly"`
}

func load(t testing.TB) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{
		"parse": len(v.Parse.Cases), "format": len(v.Format.Cases),
		"extend v2": len(v.ExtendV2.Cases), "integers": len(v.Integers.Cases),
	} {
		if n == 0 {
			t.Fatalf("no %s vectors", name)
		}
	}
	return v
}

func TestParseMatchesReference(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).Parse.Cases {
		attrs, _ := Parse(c.Value)
		if len(attrs) != len(c.Expect) {
			t.Errorf("Parse(%q) = %v, want %v", c.Value, attrs, c.Expect)
		}
		for _, kv := range attrs {
			if want, ok := c.Expect[string(kv.Key)]; !ok || kv.Value.AsString() != want {
				t.Errorf("Parse(%q): %s = %q, want %q (%t)", c.Value, kv.Key, kv.Value.AsString(), want, ok)
			}
		}
	}
}

func TestFormatMatchesReference(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).Format.Cases {
		if got, _ := Format(c.Attributes); got != c.Expect {
			t.Errorf("Format(%v) = %q, want %q", c.Attributes, got, c.Expect)
		}
	}
}

func TestExtendMatchesReference(t *testing.T) {
	t.Parallel()
	v := load(t)
	for _, c := range v.ExtendV2.Cases {
		if got, _ := Extend(c.Value, c.Defaults, c.Overrides); got != c.Expect {
			t.Errorf("Extend(%q, %v, %v) = %q, want %q", c.Value, c.Defaults, c.Overrides, got, c.Expect)
		}
	}
}

func TestIntegersMatchReference(t *testing.T) {
	t.Parallel()
	v := load(t)
	for _, key := range v.Integers.Keys {
		if integerKeys[key] == IsSlurmCounter(key) {
			t.Errorf("%s must be an integer field or a SLURM counter", key)
		}
	}
	if n := len(integerKeys) + len(slurmCounters); n != len(v.Integers.Keys) {
		t.Errorf("%d integer fields, want %d", n, len(v.Integers.Keys))
	}
	for _, c := range v.Integers.Cases {
		in := []attribute.KeyValue{{Key: attribute.Key(c.Key), Value: c.Value.Value}}
		got, warnings := Normalise(in)
		if len(got) != 1 || got[0].Value != c.Expect.Value || (len(warnings) > 0) != c.Warns {
			t.Errorf("Normalise(%v) = %v, warnings %q, want %v, warns %t", in, got, warnings, c.Expect.Value, c.Warns)
		}
		if in[0].Value != c.Value.Value {
			t.Errorf("Normalise changed its argument to %v", in)
		}
	}
}
