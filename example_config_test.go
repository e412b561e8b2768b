package lens_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/nemo-lens/lens"
)

// A trainer with variables of its own reads TRAINER_*, and NEMO_LENS_* where
// that is not set.
func ExampleFromEnv() {
	defer setenv(
		"TRAINER_TELEMETRY_SPAN_GROUPS=per_step",
		"NEMO_LENS_ENABLED=yes",
		"NEMO_LENS_SPAN_GROUPS=all")()

	cfg, err := lens.FromEnv("TRAINER_TELEMETRY", "NEMO_LENS", nil)
	fmt.Println(cfg.Enabled, cfg.SpanGroups, err)
	// Output: true per_step <nil>
}

// Everything that cannot be read is reported at once, with the variable.
func ExampleFromEnv_mistakes() {
	defer setenv("TRAINER_ENABLED=ture", "TRAINER_EXPORT_SAMPLE_RATE=12")()

	_, err := lens.FromEnv("TRAINER", "", nil)
	fmt.Println(err)
	// Output:
	// lens: TRAINER_ENABLED="ture": want one of 1, true, yes, on, 0, false, no, off, in any case
	// lens: TRAINER_EXPORT_SAMPLE_RATE="12": export_sample_rate: want a number from 0 to 1, for example 0.25
}

// setenv sets variables for one example and returns what takes them back.
func setenv(environ ...string) (restore func()) {
	var undo []func()
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if old, had := os.LookupEnv(name); had {
			undo = append(undo, func() { os.Setenv(name, old) })
		} else {
			undo = append(undo, func() { os.Unsetenv(name) })
		}
		os.Setenv(name, value)
	}
	return func() {
		for _, u := range undo {
			u()
		}
	}
}

// A program that does not use the environment starts from the defaults.
func ExampleDefaultConfig() {
	cfg := lens.DefaultConfig()
	cfg.Enabled = true
	cfg.ServiceName = "llama-pretrain"
	cfg.SpanGroups = "per_step"
	fmt.Println(cfg.Exporter, cfg.ExportStrategy, cfg.ShutdownTimeout)
	// Output: otlp single_rank 5s
}

func ExampleConfig_ResolvedSpanGroups() {
	cfg := lens.DefaultConfig()
	cfg.SpanGroups = "default,step"
	fmt.Println(cfg.ResolvedSpanGroups())
	// Output: checkpoint,evaluate,job,step <nil>
}

// SetupTelemetry refuses the same; a launcher can ask before it starts ranks.
func ExampleConfig_Validate() {
	cfg := lens.DefaultConfig()
	cfg.Exporter, cfg.ExportSampleRate = "OTLP", 1.5
	fmt.Println(cfg.Validate())
	// Output:
	// lens: export_sample_rate is 1.5: want a number from 0 to 1
	// lens: exporter is "OTLP": unknown exporter; want "otlp", "console", "file" or "none", in lower case (did you mean "otlp"?)
}

// A Config can be logged: it says where each setting came from, and no secret
// is in it, however it is written.
func ExampleConfig() {
	cfg := lens.DefaultConfig()
	cfg.SpanGroups = "per_step"
	cfg.Headers = "authorization=Bearer 123"
	for _, setting := range []string{"span_groups=", "exporter=", "headers="} {
		_, rest, _ := strings.Cut(cfg.String(), " "+setting)
		value, _, _ := strings.Cut(rest, ")")
		fmt.Println(setting + value + ")")
	}
	for _, text := range []string{fmt.Sprintf("%+v", cfg), cfg.GoString()} {
		fmt.Println(strings.Contains(text, "Bearer"))
	}
	// Output:
	// span_groups="per_step" (code)
	// exporter="otlp" (default)
	// headers=[REDACTED] (code)
	// false
	// false
}

// A receiver whose certificate comes from an authority of one's own, and which wants a
// certificate from its clients. The fields of the same names say it in code.
func ExampleConfig_certificates() {
	defer setenv(
		"NEMO_LENS_ENDPOINT=https://collector.internal:4317",
		"NEMO_LENS_CERTIFICATE=/etc/telemetry/ca.pem",
		"NEMO_LENS_CLIENT_CERTIFICATE=/etc/telemetry/trainer.pem",
		"NEMO_LENS_CLIENT_KEY=/etc/telemetry/trainer-key.pem")()

	cfg, err := lens.FromEnv("", "", nil)
	fmt.Println(cfg.Certificate, cfg.ClientCertificate, cfg.ClientKey, err)
	// Output: /etc/telemetry/ca.pem /etc/telemetry/trainer.pem /etc/telemetry/trainer-key.pem <nil>
}
