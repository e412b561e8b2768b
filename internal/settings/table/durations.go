package table

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Durations is a time up to most, and times of groups of their own, as in
// "10m,step=30s,job=0"; zero is never.
func Durations[G ~string](key string, all *time.Duration, groups *map[G]time.Duration, most time.Duration, isName func(string) bool) Setting {
	return New(key, func(text string) error {
		first, byGroup, err := parseDurations[G](text, most, isName)
		if err == nil {
			*all, *groups = first, byGroup
		}
		return err
	}, func() string {
		text := all.String()
		for _, g := range slices.Sorted(maps.Keys(*groups)) {
			text += "," + string(g) + "=" + (*groups)[g].String()
		}
		return text
	}, func(bad Report) {
		if *all < 0 || *all > most {
			bad("", *all, wantDuration(0, most, "never"))
		}
		for _, g := range slices.Sorted(maps.Keys(*groups)) {
			if d := (*groups)[g]; d < 0 || d > most {
				bad("the group "+string(g), d, wantDuration(0, most, "never"))
			}
		}
	})
}

func parseDurations[G ~string](text string, most time.Duration, isName func(string) bool) (all time.Duration, groups map[G]time.Duration, err error) {
	given := false
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		name, value, ofGroup := strings.Cut(part, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case part == "":
			continue
		case ofGroup && !isName(name):
			return 0, nil, fmt.Errorf(`%q is no group: want a time, or times of groups as in "10m,step=30s"`, name)
		case !ofGroup && given:
			return 0, nil, errors.New(`there are two times without a group: want one, and times of groups as in "10m,step=30s"`)
		case !ofGroup:
			value, given = part, true
		}
		d, err := parseDuration(strings.TrimSpace(value), most)
		switch {
		case err != nil:
			return 0, nil, err
		case !ofGroup:
			all = d
		default:
			if groups == nil {
				groups = make(map[G]time.Duration)
			}
			groups[G(name)] = d
		}
	}
	return all, groups, nil
}
