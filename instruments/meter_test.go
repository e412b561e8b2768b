package instruments

import (
	"context"
	"reflect"
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// eventually collects garbage until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("after 20 s of collecting garbage: want %s", what)
		}
		runtime.GC()
	}
}

// The caches hold instruments of the SDK, which must not lead back to the meter.
func TestCachesDoNotKeepTheMeterAlive(t *testing.T) {
	rl := NewRL(nil)
	var registry Registry
	if err := registry.Register("g", MetricSpec{Key: "k", Name: "k"}); err != nil {
		t.Fatal(err)
	}
	group := registry.group("g")
	dropped := make(chan struct{})
	use := func() {
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
		meter := provider.Meter("dropped")
		runtime.AddCleanup((*byte)(reflect.ValueOf(meter).UnsafePointer()), func(c chan struct{}) { close(c) }, dropped)
		rl = NewRL(meter)
		rl.Record(context.Background(), RLValues{Entropy: Float(1), RolloutDuration: Duration(1)})
		registry.Record(context.Background(), meter, "g", nil, Named("k", 1))
		if rlSets.len() == 0 || group.sets.len() != 1 {
			t.Errorf("caches hold %d and %d meters: want at least 1 and 1", rlSets.len(), group.sets.len())
		}
	}
	use()
	eventually(t, "the meter to be collected", func() bool {
		select {
		case <-dropped:
			return true
		default:
			return false
		}
	})
	eventually(t, "the registry to forget the meter", func() bool { return group.sets.len() == 0 })
	runtime.KeepAlive(rl) // a recorder holds the instruments, not the meter
}

// A recorder outlives its meter's entry in the cache.
func TestRecorderOutlivesTheCacheEntry(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	var cache perMeter[string, *int]
	func() {
		m := &struct{ metric.Meter }{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("m")}
		n := 0
		first, built := cache.get(m, "a", func() *int { n++; return new(int) })
		again, builtAgain := cache.get(m, "a", func() *int { n++; return new(int) })
		if first != again || !built || builtAgain || n != 1 || cache.len() != 1 {
			t.Errorf("same meter and key: built %d times, %v then %v, %d entries", n, built, builtAgain, cache.len())
		}
		if other, _ := cache.get(m, "b", func() *int { return new(int) }); other == first {
			t.Error("another key got the same set")
		}
		copied := &struct{ metric.Meter }{m.Meter}
		if other, _ := cache.get(copied, "a", func() *int { return new(int) }); other == first {
			t.Error("another meter got the same set")
		}
		runtime.KeepAlive(copied)
		runtime.KeepAlive(m)
	}()
	eventually(t, "an empty cache", func() bool { return cache.len() == 0 })
}

// A struct and its first field share an address; as meters they are two.
func TestMetersThatShareAnAddress(t *testing.T) {
	t.Parallel()
	type inner struct{ metric.Meter }
	type outer struct{ inner }
	o := &outer{}
	var cache perMeter[int, *int]
	a, _ := cache.get(o, 0, func() *int { return new(int) })
	b, _ := cache.get(&o.inner, 0, func() *int { return new(int) })
	if a == b {
		t.Error("an embedded meter got the set of the meter around it")
	}
	runtime.KeepAlive(o)
}

func TestMetersWithoutIdentityAreNotCached(t *testing.T) {
	t.Parallel()
	type value struct{ metric.Meter }
	var cache perMeter[int, int]
	n := 0
	for range 2 {
		cache.get(value{}, 0, func() int { n++; return n })
	}
	if n != 2 || cache.len() != 0 {
		t.Errorf("built %d times, %d entries: want 2 and 0", n, cache.len())
	}
}
