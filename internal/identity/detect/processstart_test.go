package detect

import (
	"math"
	"testing"
	"time"
)

func TestProcessStartMatchesReference(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).ProcessStart.Cases {
		got, err := processStart(c.Stat, c.Uptime, time.Unix(0, int64(c.ReadTime*1e9)), c.Ticks)
		if (err != nil) != c.Error {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if seconds := float64(got.UnixNano()) / 1e9; err == nil && math.Abs(seconds-c.Result) > 1e-6 {
			t.Errorf("%+v: %f, want %f", c, seconds, c.Result)
		}
	}
}

func FuzzProcessStart(f *testing.F) {
	for _, c := range load(f).ProcessStart.Cases {
		f.Add(c.Stat, c.Uptime, c.Ticks)
	}
	f.Fuzz(func(t *testing.T, stat, uptime string, ticks int) {
		now := time.Unix(1_700_000_000, 0)
		if got, err := processStart(stat, uptime, now, ticks); err == nil && got.After(now) {
			t.Fatalf("%q, %q, %d: started at %v", stat, uptime, ticks, got)
		}
	})
}
