package sampler_test

import (
	"fmt"
	"os"

	"github.com/nemo-lens/lens/gym/sampler"
	"go.opentelemetry.io/otel/metric/noop"
)

func ExampleParseDevices() {
	text := "0, GPU-a, 50, 1024, 81920\n1, GPU-b, [N/A], 0, 81920\n"
	fmt.Println(sampler.ParseDevices(text))
	// Output: [{0 GPU-a 50 1024 81920}]
}

func ExampleNewGPU() {
	gpu, err := sampler.NewGPU(noop.Meter{}, sampler.GPUConfig{
		Run:     sampler.NVIDIASMI,
		Visible: os.Getenv("CUDA_VISIBLE_DEVICES"),
	})
	if err != nil {
		panic(err)
	}
	gpu.Start()
	defer gpu.Stop()
	// ... serve
}
