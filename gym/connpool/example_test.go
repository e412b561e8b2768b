package connpool_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/nemo-lens/lens/gym/connpool"
	"go.opentelemetry.io/otel/sdk/metric"
)

func ExampleNew() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()

	provider := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	var totals connpool.Totals
	metrics, err := connpool.NewMetrics(provider.Meter("example"), connpool.WithTotals(&totals))
	if err != nil {
		panic(err)
	}
	pool, err := connpool.New(nil, connpool.Limits{Total: 512, PerHost: 64}, metrics)
	if err != nil {
		panic(err)
	}
	defer pool.CloseIdleConnections()
	client := &http.Client{Transport: pool}

	ctx := connpool.WithDestination(context.Background(), "policy_model")
	for range 3 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			panic(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			panic(err)
		}
		resp.Body.Close() // gives the slot back
	}
	fmt.Println(totals.Count("policy_model"), "requests to policy_model")
	// Output: 3 requests to policy_model
}

func ExampleSettings_Capacity() {
	intended := 200000
	capacity, err := connpool.Settings{Limit: 102400, LimitPerHost: 1024, Workers: 4, IntendedConcurrency: &intended}.Capacity()
	if err != nil {
		panic(err)
	}
	pool, _ := capacity.Warnings(connpool.Host{})
	fmt.Println(capacity.Limits)
	fmt.Println(pool[0])
	// Output:
	// {25600 256}
	// intended concurrency of 50000 is above the total limit of 25600: the rest will queue; raise global_aiohttp_connector_limit
}
