// Package processstart finds when the kernel created this process, from two files under
// /proc. Outside Linux they do not exist and the answer is an error.
package processstart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// parse computes when a process was created from the text of its stat
// file, that of the uptime file read at the given time, and the clock ticks per
// second of the stat file: at - (uptime - start_ticks / ticks).
func parse(stat, uptime string, at time.Time, ticks int) (time.Time, error) {
	bad := func(what string) (time.Time, error) {
		return time.Time{}, fmt.Errorf("lens: the creation time of this process is unknown: %s", what)
	}
	// The name of the program stands in parentheses and may hold any character,
	// parentheses and blanks included.
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return bad("the stat file has no program name")
	}
	const startTicks = 19 // the 20th field after the name
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= startTicks {
		return bad("the stat file has too few fields")
	}
	start, err := strconv.ParseUint(fields[startTicks], 10, 63)
	if err != nil {
		return bad(fmt.Sprintf("start ticks %q in the stat file are no number", envtext.Shorten(fields[startTicks], 60)))
	}
	if ticks <= 0 {
		return bad(fmt.Sprintf("%d clock ticks per second", ticks))
	}
	first, _, _ := strings.Cut(strings.TrimSpace(uptime), " ")
	up, err := strconv.ParseFloat(first, 64)
	if err != nil || math.IsNaN(up) || up < 0 || up > 1e9 {
		return bad(fmt.Sprintf("uptime %q is no number of seconds", envtext.Shorten(first, 60)))
	}
	age := up - float64(start)/float64(ticks)
	// Both clocks are rounded. More than that is an uptime file that counts from
	// another moment, as in some containers.
	if age < -1 {
		return bad("it would be in the future")
	}
	return at.Add(-time.Duration(max(age, 0) * float64(time.Second))), nil
}
