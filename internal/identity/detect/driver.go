package detect

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gpu is what is known about one device; empty means unknown.
type gpu struct {
	index                                               int // NVML's
	bus, model, uuid, serial, capability, driverVersion string
	memory                                              int64 // bytes
}

// driver reads the files of the NVIDIA kernel driver.
type driver struct {
	root string
	list []gpu
	read bool
}

const driverDir = "proc/driver/nvidia"

// devices returns the GPUs of the driver in the order of their PCI addresses,
// which is the order of NVML indices. Without the driver there are none.
func (d *driver) devices() []gpu {
	if d.read {
		return d.list
	}
	d.read = true
	if d.list = d.fromProc(); len(d.list) == 0 {
		d.list = d.fromSys()
	}
	slices.SortFunc(d.list, func(a, b gpu) int { return cmp.Compare(a.bus, b.bus) })
	if len(d.list) > 0 {
		version := d.version()
		for i := range d.list {
			d.list[i].index, d.list[i].driverVersion = i, version
		}
	}
	return d.list
}

// fromProc reads /proc/driver/nvidia/gpus/<address>/information. In a container
// the container runtime shows only the devices given to it there.
func (d *driver) fromProc() (out []gpu) {
	entries, _ := os.ReadDir(filepath.Join(d.root, driverDir, "gpus")) // absent without the driver
	for _, e := range entries {
		g := gpu{bus: busID(e.Name())}
		excluded := false
		for line := range strings.Lines(readFile(d.root, driverDir, "gpus", e.Name(), "information")) {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			switch strings.TrimSpace(name) {
			case "Model":
				g.model = value
			case "GPU UUID":
				// Question marks stand for a device that nobody has opened yet.
				if !strings.Contains(value, "?") {
					g.uuid = value
				}
			case "GPU Excluded":
				excluded = strings.EqualFold(value, "yes")
			}
		}
		if !excluded && g.bus != "" {
			out = append(out, g)
		}
	}
	return out
}

// fromSys lists the PCI devices bound to the driver.
func (d *driver) fromSys() (out []gpu) {
	entries, _ := os.ReadDir(filepath.Join(d.root, "sys/bus/pci/drivers/nvidia")) // absent without the driver
	for _, e := range entries {
		if bus := busID(e.Name()); bus != "" {
			out = append(out, gpu{bus: bus})
		}
	}
	return out
}

var versionText = regexp.MustCompile(`Kernel Module(?: for \S+)?\s+(\d[\d.]*)`)

func (d *driver) version() string {
	if v := strings.TrimSpace(readFile(d.root, "sys/module/nvidia/version")); v != "" {
		return v
	}
	if m := versionText.FindStringSubmatch(readFile(d.root, driverDir, "version")); m != nil {
		return m[1]
	}
	return ""
}

var busText = regexp.MustCompile(`^([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])$`)

// busID brings a PCI address into NVML's form: a domain of eight digits, upper
// case. Text that is no address gives nothing.
func busID(text string) string {
	m := busText.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return ""
	}
	return strings.ToUpper(strings.Repeat("0", 8-len(m[1])) + m[1] + ":" + m[2])
}

// parseMiB reads a number of MiB as bytes.
func parseMiB(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n << 20
}
