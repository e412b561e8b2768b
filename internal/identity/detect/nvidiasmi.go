package detect

import (
	"context"
	"fmt"
	"sync"

	"github.com/nemo-lens/lens/internal/identity/nvidia"
)

// smiFields are what is asked of nvidia-smi about each device.
var smiFields = []string{"name", "uuid", "serial", "pci.bus_id", "compute_cap", "memory.total", "driver_version"}

// smiOnce returns a function that asks nvidia-smi the first time, if that is
// allowed, and remembers the answer. Whatever goes wrong is a warning.
func (d *detector) smiOnce() func() []gpu {
	return sync.OnceValue(func() []gpu {
		if !d.NvidiaSMI {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), d.NvidiaSMITimeout)
		defer cancel()
		out, err := d.Run(ctx, nvidia.Program, nvidia.Query(smiFields...)...)
		switch {
		case nvidia.IsWarning(err):
			d.warn(fmt.Sprintf("nvidia-smi: %v: the infoROM of a device is corrupted; what it says about the devices is used", err))
		case err != nil && ctx.Err() != nil:
			d.warn(fmt.Sprintf("nvidia-smi did not answer within %v and was stopped", d.NvidiaSMITimeout))
			return nil
		case err != nil:
			d.warn(fmt.Sprintf("nvidia-smi: %v", err))
			return nil
		}
		return parseSMI(string(out))
	})
}

func parseSMI(out string) (list []gpu) {
	for _, row := range nvidia.Rows(out, len(smiFields)) {
		f := row.Fields
		list = append(list, gpu{
			index: row.Index, model: f[0], uuid: f[1], serial: f[2], bus: busID(f[3]),
			capability: f[4], memory: parseMiB(f[5]), driverVersion: f[6],
		})
	}
	return list
}
