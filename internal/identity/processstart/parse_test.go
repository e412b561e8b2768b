package processstart

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"
)

type vector struct {
	Stat, Uptime string
	ReadTime     float64 `json:"read_time"`
	Ticks        int
	Result       float64
	Error        bool
}

// vectors are those of the reference.
func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var suite struct{ Cases []vector }
	if err := json.Unmarshal(data, &suite); err != nil || len(suite.Cases) == 0 {
		t.Fatal(len(suite.Cases), err)
	}
	return suite.Cases
}

func TestProcessStartMatchesReference(t *testing.T) {
	t.Parallel()
	for _, c := range vectors(t) {
		got, err := parse(c.Stat, c.Uptime, time.Unix(0, int64(c.ReadTime*1e9)), c.Ticks)
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
	for _, c := range vectors(f) {
		f.Add(c.Stat, c.Uptime, c.Ticks)
	}
	f.Fuzz(func(t *testing.T, stat, uptime string, ticks int) {
		now := time.Unix(1_700_000_000, 0)
		if got, err := parse(stat, uptime, now, ticks); err == nil && got.After(now) {
			t.Fatalf("%q, %q, %d: started at %v", stat, uptime, ticks, got)
		}
	})
}
