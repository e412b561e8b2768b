package memprofile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultProcRoot is where Linux shows its processes.
const DefaultProcRoot = "/proc"

// Reasons why a profiler cannot run, to be told apart with [errors.Is].
var (
	ErrDisabled     = errors.New("lens: no memory profile: it is not enabled; set memory_profiling.enabled")
	ErrUnsupported  = errors.New("lens: no memory profile: it needs Linux with procfs")
	ErrMetricsOff   = errors.New("lens: no memory profile: metrics are switched off; set metrics_enabled")
	ErrNotExporting = errors.New("lens: no memory profile: this process exports no telemetry; set telemetry.enabled and an exporter")
)

// Conditions is what must hold for a profiler to be of use.
type Conditions struct {
	Enabled   bool   // profiling was asked for
	Metrics   bool   // the metrics switch
	Exporting bool   // telemetry is set up and exports
	ProcRoot  string // empty: [DefaultProcRoot]
}

// Check returns the first reason why no profiler can run, or nil.
func (c Conditions) Check() error { return c.check(runtime.GOOS) }

func (c Conditions) check(goos string) error {
	if !c.Enabled {
		return ErrDisabled
	}
	if err := supported(goos, c.ProcRoot); err != nil {
		return err
	}
	if !c.Metrics {
		return ErrMetricsOff
	}
	if !c.Exporting {
		return ErrNotExporting
	}
	return nil
}

func supported(goos, root string) error {
	if goos != "linux" {
		return fmt.Errorf("%w, and this is %s", ErrUnsupported, goos)
	}
	if root == "" {
		root = DefaultProcRoot
	}
	if _, err := os.Stat(filepath.Join(root, "meminfo")); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return nil
}
