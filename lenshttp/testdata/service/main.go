// Command service is the other one with lens, built with the tag lens_noop.
package main

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
)

func main() {
	cfg, err := lens.FromEnv("", "", nil)
	handle, err2 := lens.SetupTelemetry(context.Background(), cfg)
	fmt.Println(err, err2, handle.RunID())
	client := &http.Client{Transport: lenshttp.NewTransport(nil, "client")}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		ctx, span := lens.ManagedSpan(r.Context(), "work", "work", attribute.Int("i", 1))
		defer lens.End(span, nil)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost:8081/", nil)
		fmt.Fprintln(w, err)
		res, err := client.Do(req)
		fmt.Fprintln(w, res, err)
	})
	fmt.Println(http.ListenAndServe("localhost:8080", lenshttp.NewHandler(nil, "server")))
}
