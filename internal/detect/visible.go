package detect

import (
	"strconv"
	"strings"
)

// visibleVar lists the devices that CUDA shows to a process.
const visibleVar = "CUDA_VISIBLE_DEVICES"

// DeviceKind says how CUDA_VISIBLE_DEVICES names a device.
type DeviceKind int

// The ways to name a device.
const (
	DeviceIndex DeviceKind = iota // 3
	DeviceUUID                    // GPU-8f3c..., also abbreviated
	DeviceMIG                     // MIG-..., in the new and the old form
)

// VisibleDevice is one entry of CUDA_VISIBLE_DEVICES.
type VisibleDevice struct {
	Kind  DeviceKind
	Index int    // for DeviceIndex
	Text  string // trimmed, as it stands there
}

// ParseVisible returns the devices that CUDA makes of text: entries up to the
// first one that is no device. A negative index, an empty entry and words such
// as NoDevFiles or all are no devices. Whether a device exists is not checked.
func ParseVisible(text string) []VisibleDevice {
	var out []VisibleDevice
	for entry := range strings.SplitSeq(text, ",") {
		entry = strings.TrimSpace(entry)
		d := VisibleDevice{Text: entry}
		switch {
		case strings.HasPrefix(entry, "GPU-"):
			d.Kind = DeviceUUID
		case strings.HasPrefix(entry, "MIG-"):
			d.Kind = DeviceMIG
		default:
			n, err := strconv.Atoi(entry)
			if err != nil || n < 0 {
				return out
			}
			d.Index = n
		}
		out = append(out, d)
	}
	return out
}

// CountVisible counts text as NeMo Lens does: 0 if it is blank, else the number
// of comma-separated pieces, up to the first negative index.
func CountVisible(text string) int {
	if strings.TrimSpace(text) == "" {
		return 0
	}
	n := 0
	for piece := range strings.SplitSeq(text, ",") {
		if index, err := strconv.Atoi(strings.TrimSpace(piece)); err == nil && index < 0 {
			break
		}
		n++
	}
	return n
}
