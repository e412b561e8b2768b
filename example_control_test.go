//go:build !lens_noop

package lens_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nemo-lens/lens"
)

// The handler goes where only those can come who may change the process.
func ExampleControlHandler() {
	h := setUp()
	defer shutDown(h)
	mux := http.NewServeMux()
	mux.Handle("/debug/lens", lens.ControlHandler())

	// curl -X PUT -H 'Content-Type: application/json' -d '{"spec": "all", "for": "2m"}' localhost:6060/debug/lens
	put := httptest.NewRequest(http.MethodPut, "/debug/lens", strings.NewReader(`{"spec": "all", "for": "2m"}`))
	put.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, put)
	fmt.Println(answer.Code, lens.EnabledSpanGroups().Len())
	// Output:
	// 200 8
}

// More detail for two minutes, because something looks odd.
func ExampleEscalateSpanGroups() {
	h := setUp()
	defer shutDown(h)

	revert, err := lens.EscalateSpanGroups("all", 2*time.Minute)
	fmt.Println(err, lens.IsSpanGroupEnabled(lens.Step))
	revert() // sooner
	fmt.Println(lens.IsSpanGroupEnabled(lens.Step))

	_, err = lens.EscalateSpanGroups("all", 365*24*time.Hour)
	fmt.Println(err)
	// Output:
	// <nil> true
	// false
	// lens: escalate to "all": 8760h0m0s is no time for a change that reverts: want more than 0 and at most 24h0m0s
}

// kill -HUP gives five minutes of all groups.
func ExampleEscalateOnSignal() {
	h := setUp()
	defer shutDown(h)
	stop, err := lens.EscalateOnSignal("all", 5*time.Minute, os.Signal(syscall.SIGHUP))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
}
