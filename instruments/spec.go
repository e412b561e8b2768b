package instruments

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is the kind of instrument of a [MetricSpec].
type Kind string

// The kinds of the open registry. The empty Kind is [Gauge].
const (
	Gauge         Kind = "gauge"           // the value is set
	Histogram     Kind = "histogram"       // the value is recorded
	Counter       Kind = "counter"         // the value, not negative, is added
	UpDownCounter Kind = "up_down_counter" // the value is added
)

// MetricSpec describes one metric of a group.
type MetricSpec struct {
	Key         string // what [Value] calls it
	Name        string // what it is called on the wire
	Kind        Kind   // empty: Gauge
	Unit        string // UCUM, may be empty
	Description string
	// Bounds are the bucket boundaries of a histogram, ascending. Empty: the SDK's.
	Bounds []float64
}

// ErrGroupRegistered is wrapped by [Registry.Register] when the group exists.
var ErrGroupRegistered = errors.New("the metric group is registered already")

// ErrUnknownGroup is wrapped by [Registry.Unregister] when the group does not exist.
var ErrUnknownGroup = errors.New("no such metric group")

// checkSpecs returns every fault of a group, joined, or the specs with their kinds
// filled in.
func checkSpecs(group string, specs []MetricSpec) ([]MetricSpec, error) {
	if strings.TrimSpace(group) == "" {
		return nil, fmt.Errorf("lens: metric group %q: want a name", group)
	}
	if len(specs) == 0 {
		return nil, fmt.Errorf("lens: metric group %q has no metrics: want at least one MetricSpec", group)
	}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("lens: metric group %q: "+format, append([]any{group}, args...)...))
	}
	specs = slices.Clone(specs)
	keys := make(map[string]bool, len(specs))
	for i := range specs {
		s := &specs[i]
		switch {
		case strings.TrimSpace(s.Key) == "":
			fault("metric %d (name %q) has key %q: want a key", i, s.Name, s.Key)
		case keys[s.Key]:
			fault("key %q is given twice: want one metric for each key", s.Key)
		}
		keys[s.Key] = true
		if strings.TrimSpace(s.Name) == "" {
			fault("metric %d (key %q) has name %q: want a name", i, s.Key, s.Name)
		}
		switch s.Kind {
		case "":
			s.Kind = Gauge
		case Gauge, Histogram, Counter, UpDownCounter:
		default:
			fault("metric %q has kind %q: want %s, %s, %s or %s", s.Key, string(s.Kind), Gauge, Histogram, Counter, UpDownCounter)
		}
		s.Bounds = slices.Clone(s.Bounds)
		if len(s.Bounds) > 0 && s.Kind != Histogram {
			fault("metric %q has bounds and kind %q: want no bounds, or kind %s", s.Key, string(s.Kind), Histogram)
		}
		if !ascending(s.Bounds) {
			fault("metric %q has bounds %v: want ascending numbers", s.Key, s.Bounds)
		}
	}
	return specs, errors.Join(faults...)
}

func ascending(bounds []float64) bool {
	for i, b := range bounds {
		if math.IsNaN(b) || i > 0 && b <= bounds[i-1] {
			return false
		}
	}
	return true
}

// Value is one value for the metric called Key. A Value whose Number is missing is
// skipped.
type Value struct {
	Key    string
	Number OptFloat
}

// Named returns the value v for the metric called key.
func Named(key string, v float64) Value { return Value{key, Float(v)} }
