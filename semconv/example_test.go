package semconv_test

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/semconv"
)

func Example() {
	attrs := []attribute.KeyValue{
		semconv.DLIterationKey.Int(100),
		semconv.DLLossKey.Float64(0.25),
	}
	for _, kv := range attrs {
		fmt.Printf("%s=%s\n", kv.Key, kv.Value.String())
	}
	// Output:
	// dl.iteration=100
	// dl.loss=0.25
}

// Attributes of an older process under their newer names.
func ExampleRenamed() {
	renamed := semconv.Renamed()
	for _, kv := range []attribute.KeyValue{
		semconv.DLRankKey.Int(3),
		semconv.NeMoRunIDKey.String("77"),
	} {
		if key, ok := renamed[kv.Key]; ok {
			kv.Key = key
		}
		fmt.Printf("%s=%s\n", kv.Key, kv.Value.String())
	}
	// Output:
	// nv.dl.rank=3
	// nemo.run.id=77
}
