package instruments

import (
	"math"
	"testing"
	"testing/quick"
	"time"
	"unsafe"
)

func TestOptionalKeepsEveryNumber(t *testing.T) {
	t.Parallel()
	floats := func(bits uint64) bool {
		v := math.Float64frombits(bits)
		got, ok := Float(v).Get()
		return ok && (math.Float64bits(got) == bits || v != v && got != got)
	}
	ints := func(v int64) bool {
		n, ok := Int(int(v)).Get()
		d, okD := Duration(time.Duration(v)).Get()
		return ok && okD && n == int64(int(v)) && int64(d) == v
	}
	for _, bits := range []uint64{0, 1 << 63, absentFloat, absentFloat ^ 1, math.Float64bits(math.Inf(1)), math.MaxUint64} {
		if !floats(bits) {
			t.Errorf("Float lost the pattern %#x", bits)
		}
	}
	for _, v := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64 + 1} {
		if !ints(v) {
			t.Errorf("Int or Duration lost %d", v)
		}
	}
	if got, ok := Duration(math.MinInt64).Get(); !ok || got != math.MinInt64+1 {
		t.Errorf("Duration(MinInt64) = %d, %v: want it moved up by one", got, ok)
	}
	for _, property := range []any{floats, ints} {
		if err := quick.Check(property, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestOptionalZeroIsMissing(t *testing.T) {
	t.Parallel()
	f, okF := OptFloat{}.Get()
	i, okI := OptInt{}.Get()
	d, okD := OptDuration{}.Get()
	if okF || okI || okD || f != 0 || i != 0 || d != 0 {
		t.Errorf("zero values: got %v %v, %v %v, %v %v: want 0 false", f, okF, i, okI, d, okD)
	}
	if s := unsafe.Sizeof(RLValues{}); s != 11*8 {
		t.Errorf("RLValues takes %d bytes: want one word a field", s)
	}
}
