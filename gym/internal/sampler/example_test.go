package sampler_test

import (
	"fmt"
	"os"

	"github.com/nemo-lens/lens/gym/internal/sampler"
	"go.opentelemetry.io/otel/metric/noop"
)

func ExampleParseDevices() {
	text := "0, GPU-a, 50, 1024, 81920\n1, GPU-b, [N/A], 0, 81920\n"
	fmt.Println(sampler.ParseDevices(text))
	// Output: [{0 GPU-a 50 1024 81920} {1 GPU-b NaN 0 81920}]
}

func ExampleNewGPU() {
	cfg := sampler.GPUConfig{Run: sampler.NVIDIASMI}
	if visible, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
		cfg.Visible = sampler.Select(visible)
	}
	gpu, err := sampler.NewGPU(noop.Meter{}, cfg)
	if err != nil {
		panic(err)
	}
	gpu.Start()
	defer gpu.Stop()
	// ... serve
}

func ExampleSelect() {
	devices := []sampler.Device{{Index: 0, UUID: "GPU-aa"}, {Index: 1, UUID: "GPU-bb"}, {Index: 2, UUID: "GPU-cc"}}
	for _, visible := range []string{"2,0", "0,-1,2", "GPU-b", "NoDevFiles"} {
		var indices []int
		for _, d := range sampler.Select(visible).Of(devices) {
			indices = append(indices, d.Index)
		}
		fmt.Println(visible, indices)
	}
	// Output:
	// 2,0 [2 0]
	// 0,-1,2 [0]
	// GPU-b [1]
	// NoDevFiles []
}
