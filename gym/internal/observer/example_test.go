package observer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/nemo-lens/lens/gym/internal/observer"
	"go.opentelemetry.io/otel/metric/noop"
)

func ExampleStart() {
	var meter noop.Meter // the program's own
	o, err := observer.Start(meter, observer.Config{TaskCount: true})
	if err != nil {
		panic(err)
	}
	defer o.Stop()
	// ... serve
}

func ExampleInFlight_Middleware() {
	inFlight, err := observer.NewInFlight(noop.Meter{})
	if err != nil {
		panic(err)
	}
	handler := inFlight.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		fmt.Println("during:", inFlight.Count())
	}))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println("after:", inFlight.Count())
	// Output:
	// during: 1
	// after: 0
}
