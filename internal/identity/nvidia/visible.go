// Package nvidia has what several places need to know about graphics processors:
// which of them CUDA_VISIBLE_DEVICES shows to a process, and how nvidia-smi is run
// and its answer is read.
//
// Everything here is safe for concurrent use.
package nvidia

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// VisibleVar lists the devices that CUDA shows to a process.
const VisibleVar = "CUDA_VISIBLE_DEVICES"

// Visible is what [VisibleVar] says, read as CUDA reads it:
//
//   - Not set: every device. Set and blank: none.
//   - An entry is an index, a UUID (GPU-..., which may be cut short as long as one
//     device fits), or a MIG instance (MIG-...). The first entry decides which of
//     the three the list has.
//   - The first entry that names no device ends the list: -1, NoDevFiles, all, an
//     empty one, an index or UUID that no device has, one of another form.
//   - A number is read as far as it goes: "1x" is 1.
//   - A device that is named twice leaves none at all.
//   - A process sees one MIG instance, the first.
//
// The zero value is that of a variable that is not set.
type Visible struct {
	isSet   bool
	entries []entry
}

type entry struct {
	index int    // -1 for a UUID or MIG instance
	text  string // of a UUID or MIG instance
}

const (
	uuidPrefix = "GPU-"
	migPrefix  = "MIG-"
)

// ReadVisible reads [VisibleVar] of an environment. Quotes stay, as CUDA sees them,
// too.
func ReadVisible(lookup envtext.Lookup) Visible {
	text, isSet := lookup(VisibleVar)
	if !isSet {
		return Visible{}
	}
	return ParseVisible(text)
}

// ParseVisible reads the text of a variable that is set.
func ParseVisible(text string) Visible {
	v := Visible{isSet: true}
	form := ""
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		e := entry{index: -1, text: item}
		this := item[:min(len(item), len(uuidPrefix))]
		if this != uuidPrefix && this != migPrefix {
			this = ""
			var ok bool
			if e.index, ok = leadingNumber(item); !ok {
				return v
			}
			e.text = ""
		}
		if len(v.entries) > 0 && this != form {
			return v
		}
		form = this
		if slices.Contains(v.entries, e) {
			return Visible{isSet: true}
		}
		if form != migPrefix || len(v.entries) == 0 {
			v.entries = append(v.entries, e)
		}
	}
	return v
}

// leadingNumber reads a number that is not negative, and ignores what follows its
// digits.
func leadingNumber(text string) (n int, ok bool) {
	text = strings.TrimPrefix(text, "+")
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(text[:end])
	return n, err == nil
}

// IsSet reports whether the variable was set, blank included.
func (v Visible) IsSet() bool { return v.isSet }

// Device is a device of the host, as far as it is known.
type Device struct {
	Index int
	UUID  string // empty if unknown
}

// Of returns which of the devices the process sees, as positions in the list and in
// the order in which CUDA counts them. A device that an entry may mean, and that
// is not known well enough to tell, is left out: a MIG instance whose name does
// not hold its device, and a UUID where those of the devices are unknown.
func (v Visible) Of(devices []Device) []int {
	return slices.DeleteFunc(v.positions(devices), func(at int) bool { return at < 0 })
}

// Count returns how many devices the process sees. Without devices, which is where
// nothing is known about the host, the entries count.
func (v Visible) Count(devices []Device) int {
	if len(devices) == 0 {
		return len(v.entries)
	}
	return len(v.positions(devices))
}

// positions has -1 for a device that exists as far as can be told.
func (v Visible) positions(devices []Device) (out []int) {
	if !v.isSet {
		for i := range devices {
			out = append(out, i)
		}
		return out
	}
	for _, e := range v.entries {
		at, ok := e.in(devices)
		if !ok {
			return out
		}
		if at >= 0 && slices.Contains(out, at) {
			return nil
		}
		out = append(out, at)
	}
	return out
}

// in returns the position of the only device that e fits, -1 if that cannot be
// told, and false if there is none.
func (e entry) in(devices []Device) (at int, ok bool) {
	if e.index >= 0 {
		at = slices.IndexFunc(devices, func(d Device) bool { return d.Index == e.index })
		return at, at >= 0
	}
	prefix := e.text
	if mig, isMIG := strings.CutPrefix(e.text, migPrefix); isMIG {
		// MIG-GPU-<uuid>/<gpu instance>/<compute instance>, or the newer
		// MIG-<uuid>, which says nothing about its device.
		if prefix, _, _ = strings.Cut(mig, "/"); !strings.HasPrefix(prefix, uuidPrefix) {
			return -1, true
		}
	}
	at = -1
	unknown := false
	for i, d := range devices {
		switch {
		case d.UUID == "":
			unknown = true
		case strings.HasPrefix(d.UUID, prefix) && at >= 0:
			return -1, false
		case strings.HasPrefix(d.UUID, prefix):
			at = i
		}
	}
	return at, at >= 0 || unknown
}
