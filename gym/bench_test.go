package gym

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/nemo-lens/lens"
)

// BenchmarkOff compares a handler alone with the same one behind what a server
// has in front of it, with every group off (case 47).
func BenchmarkOff(b *testing.B) {
	lens.SetEnabledSpanGroups()
	var bare http.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest("POST", "/run", nil)
	w := httptest.NewRecorder()
	for _, c := range []struct {
		name string
		h    http.Handler
	}{{"bare", bare}, {"endpoint", TracedRollout(bare)}, {"middleware", Middleware(bare)}, {"all", Middleware(RolloutPath(TracedRollout(bare)))}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.h.ServeHTTP(w, r)
			}
		})
	}
}
