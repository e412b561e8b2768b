package sampler

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/nemo-lens/lens/internal/identity/nvidia"
)

// Runner asks the graphics processors, and answers with a line for each in the form of [ParseDevices]. An answer beside an
// error is used where the error is the exit status 14 of nvidia-smi, which warns of a corrupted infoROM.
type Runner func(ctx context.Context) ([]byte, error)

// NVIDIASMI is a [Runner]: it runs nvidia-smi from the PATH, and kills it when ctx ends.
func NVIDIASMI(ctx context.Context) ([]byte, error) {
	out, err := nvidia.Run(ctx, nvidia.Program, nvidia.Query(fields...)...)
	if err != nil {
		err = fmt.Errorf("lens: run %s: %w", nvidia.Program, err)
	}
	return out, err
}

// fields follow the index in a line.
var fields = []string{"uuid", "utilization.gpu", "memory.used", "memory.total"}

// Device is a graphics processor at one moment. A number that is not known is NaN, and a UUID empty.
type Device struct {
	Index       int
	UUID        string
	Utilization float64 // percent of the time it was busy
	MemoryUsed  float64 // MiB
	MemoryTotal float64 // MiB
}

// ParseDevices reads lines of five fields with commas between: index, UUID, utilization in percent, memory used and in
// all in MiB. A line of another shape, or without an index, is skipped. A field such as [N/A], and one that is no number
// from 0, is not known; the others of its line are.
func ParseDevices(text string) (devices []Device) {
	for _, row := range nvidia.Rows(text, len(fields)) {
		f := row.Fields
		devices = append(devices, Device{row.Index, f[0], number(f[1]), number(f[2]), number(f[3])})
	}
	return devices
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 1) {
		return math.NaN()
	}
	return n
}

// Selection tells which devices are of interest. The zero value takes all.
type Selection struct{ visible nvidia.Visible }

// Select reads the value of CUDA_VISIBLE_DEVICES as CUDA does: indices, UUIDs that begin with GPU- and may be cut short, or
// MIG instances, up to the first entry that names no device. Blank text selects nothing; where the variable is not set,
// use the zero [Selection]. A MIG instance is no device that nvidia-smi lists, so that it selects one only where its name
// holds the UUID of it.
func Select(visible string) Selection { return Selection{nvidia.ParseVisible(visible)} }

// Of returns those of devices, all of a host, that are of interest.
func (s Selection) Of(devices []Device) (selected []Device) {
	known := make([]nvidia.Device, len(devices))
	for i, d := range devices {
		known[i] = nvidia.Device{Index: d.Index, UUID: d.UUID}
	}
	for _, at := range s.visible.Of(known) {
		selected = append(selected, devices[at])
	}
	return selected
}
