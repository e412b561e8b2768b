package lens_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nemo-lens/lens"
)

// Every verb of fmt writes the same line.
func ExampleConfig_Format() {
	cfg := lens.DefaultConfig()
	cfg.Headers = "authorization=Bearer 123"
	for _, verb := range []string{"%v", "%+v", "%s", "%d"} {
		fmt.Println(verb, fmt.Sprintf(verb, cfg) == cfg.String())
	}
	// Output:
	// %v true
	// %+v true
	// %s true
	// %d true
}

// JSON and log/slog write that line, too, also where the Config is a field of
// something else.
func ExampleConfig_MarshalText() {
	run := struct{ Telemetry lens.Config }{lens.DefaultConfig()}
	run.Telemetry.Headers = "authorization=Bearer 123"
	data, err := json.Marshal(run)
	fmt.Println(strings.Contains(string(data), "headers=[REDACTED]"), strings.Contains(string(data), "Bearer"), err)
	// Output: true false <nil>
}
