package instruments

import (
	"math"
	"time"
)

// absentFloat is the pattern of a NaN that no arithmetic produces. An OptFloat
// holds its number combined with it, so that the zero value means "not given"
// without a second word: the structs below are built on every call, also when
// nothing is recorded, and their size is most of what such a call costs.
const absentFloat = 0x7ff8_6c65_6e73_0001

// OptFloat is a number that may be missing. The zero OptFloat is missing; 0 is a
// number like any other, and so are NaN and the infinities.
type OptFloat struct{ bits uint64 }

// Float returns the number v.
func Float(v float64) OptFloat {
	bits := math.Float64bits(v) ^ absentFloat
	if bits == 0 { // v is the very NaN that stands for "missing"
		bits = 1
	}
	return OptFloat{bits}
}

// Get returns the number and true, or 0 and false when it is missing.
func (o OptFloat) Get() (float64, bool) {
	if o.bits == 0 {
		return 0, false
	}
	return math.Float64frombits(o.bits ^ absentFloat), true
}

// OptInt is a count that may be missing. The zero OptInt is missing.
type OptInt struct{ bits int64 }

// Int returns the count v.
func Int(v int) OptInt { return OptInt{presentInt(int64(v))} }

// Get returns the count and true, or 0 and false when it is missing.
func (o OptInt) Get() (int64, bool) {
	if o.bits == 0 {
		return 0, false
	}
	return o.bits ^ math.MinInt64, true
}

// OptDuration is a duration that may be missing. The zero OptDuration is missing.
// Each instrument converts it to its own unit.
type OptDuration struct{ bits int64 }

// Duration returns the duration d.
func Duration(d time.Duration) OptDuration { return OptDuration{presentInt(int64(d))} }

// Get returns the duration and true, or 0 and false when it is missing.
func (o OptDuration) Get() (time.Duration, bool) {
	if o.bits == 0 {
		return 0, false
	}
	return time.Duration(o.bits ^ math.MinInt64), true
}

// presentInt keeps 0 free for "missing". The one number that would collide, the
// smallest int64, is moved up by one.
func presentInt(v int64) int64 {
	if v == math.MinInt64 {
		v++
	}
	return v ^ math.MinInt64
}
