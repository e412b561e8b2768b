package cli

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// spanArg is one --span NAME,START,END[,PARENT].
type spanArg struct {
	name, parent string
	start, end   *big.Rat // seconds since 1970, exact
}

// The mistakes in a span argument.
var (
	errFieldCount  = errors.New("want NAME,START,END or NAME,START,END,PARENT")
	errMissingName = errors.New("the name is missing")
	errMissingTime = errors.New("a time is missing")
	errNoNumber    = errors.New("not a number of seconds since 1970")
	errNotFinite   = errors.New("not a finite number of seconds")
)

func parseSpanArg(text string) (spanArg, error) {
	fields := strings.Split(text, ",")
	if len(fields) < 3 || len(fields) > 4 {
		return spanArg{}, fmt.Errorf("--span %q: %w", text, errFieldCount)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	s := spanArg{name: fields[0]}
	if len(fields) == 4 {
		s.parent = fields[3]
	}
	if s.name == "" {
		return s, fmt.Errorf("--span %q: %w", text, errMissingName)
	}
	for i, to := range []**big.Rat{&s.start, &s.end} {
		which := []string{"start", "end"}[i]
		var err error
		if *to, err = seconds(fields[i+1]); err != nil {
			return s, fmt.Errorf("--span %q: the %s %q: %w", text, which, fields[i+1], err)
		}
	}
	return s, nil
}

// seconds reads a decimal number exactly.
func seconds(text string) (*big.Rat, error) {
	if text == "" {
		return nil, errMissingTime
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case f != f || strings.Contains(strings.ToLower(text), "inf"):
		if err == nil {
			return nil, errNotFinite
		}
		return nil, errNoNumber
	case errors.Is(err, strconv.ErrRange), len(text) > 64:
		return nil, errNotFinite
	case err != nil || strings.ContainsAny(text, "xXpP_"):
		return nil, errNoNumber
	case f != 0 && (f < 1e-300 && f > -1e-300):
		return new(big.Rat), nil // the exact fraction would have as many digits
	}
	const most = 9.2e9 // what 64 bits of nanoseconds hold: the year 2261
	if f > most || f < -most {
		return nil, fmt.Errorf("beyond the year 2261: %w", errNoNumber)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errNoNumber
	}
	return r, nil
}

// instant is a time, with nanoseconds truncated towards 1970.
func instant(r *big.Rat) time.Time {
	n := new(big.Rat).Mul(r, new(big.Rat).SetInt64(1e9))
	return time.Unix(0, new(big.Int).Quo(n.Num(), n.Denom()).Int64())
}

// orderFault is a mistake in how spans refer to each other.
type orderFault struct{ kind, name string }

func (f orderFault) String() string {
	switch f.kind {
	case "duplicate":
		return fmt.Sprintf("%q is there more than once", f.name)
	case "missing_parent":
		return fmt.Sprintf("the parent of %q is not among the spans, or is there more than once", f.name)
	}
	return fmt.Sprintf("%q is below itself", f.name)
}

// orderSpans puts parents before their children, in waves: within a wave the order
// stays as it was given.
func orderSpans(spans []spanArg) (ordered []spanArg, faults []orderFault) {
	count := map[string]int{}
	for _, s := range spans {
		if count[s.name]++; count[s.name] == 2 {
			faults = append(faults, orderFault{"duplicate", s.name})
		}
	}
	for _, s := range spans {
		if s.parent != "" && count[s.parent] != 1 {
			faults = append(faults, orderFault{"missing_parent", s.name})
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	done := map[string]bool{"": true}
	for left := spans; len(left) > 0; {
		var wave, rest []spanArg
		for _, s := range left {
			if done[s.parent] {
				wave = append(wave, s)
			} else {
				rest = append(rest, s)
			}
		}
		if len(wave) == 0 {
			for _, s := range rest {
				faults = append(faults, orderFault{"cycle", s.name})
			}
			return nil, faults
		}
		for _, s := range wave {
			done[s.name] = true
		}
		ordered, left = append(ordered, wave...), rest
	}
	return ordered, nil
}
