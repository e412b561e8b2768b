// Command bare is a service with OpenTelemetry's API, without lens: what the size
// of the other one is measured against.
package main

import (
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		trace.SpanFromContext(r.Context()).SetAttributes(attribute.Int("i", 1))
		res, err := http.Get("http://localhost:8081/")
		fmt.Fprintln(w, res, err)
	})
	fmt.Println(http.ListenAndServe("localhost:8080", nil))
}
