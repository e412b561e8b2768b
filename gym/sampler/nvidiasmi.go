package sampler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// most bounds what is read of the program's output; a device takes some 70 bytes.
const most = 1 << 20

// Runner asks the graphics processors, and answers with a line for each in the form of [ParseDevices].
type Runner func(ctx context.Context) ([]byte, error)

// NVIDIASMI is a [Runner]: it runs nvidia-smi from the PATH, and kills it when ctx ends.
func NVIDIASMI(ctx context.Context) ([]byte, error) {
	return runProgram(ctx, "nvidia-smi",
		"--query-gpu=index,uuid,utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits")
}

func runProgram(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // for what it may have started to let go of the pipe
	out := &limited{}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("lens: run %s: %w", name, err)
	}
	return out.text, nil
}

// limited takes no more than most bytes. It is no bytes.Buffer, which would read to the end by its own ReadFrom.
type limited struct{ text []byte }

func (l *limited) Write(p []byte) (int, error) {
	if len(l.text)+len(p) > most {
		return 0, errors.New("too much output")
	}
	l.text = append(l.text, p...)
	return len(p), nil
}

// Device is a graphics processor at one moment.
type Device struct {
	Index       int
	UUID        string
	Utilization float64 // percent of the time it was busy
	MemoryUsed  float64 // MiB
	MemoryTotal float64 // MiB
}

// ParseDevices reads lines of five fields with commas between: index, UUID, utilization in percent, memory used and in
// all in MiB. A line that is anything else is skipped, as one with "[N/A]" in it.
func ParseDevices(text string) (devices []Device) {
	for line := range strings.Lines(text) {
		if d, ok := parseDevice(line); ok {
			devices = append(devices, d)
		}
	}
	return devices
}

func parseDevice(line string) (d Device, ok bool) {
	f := strings.Split(line, ",")
	if len(f) != 5 {
		return Device{}, false
	}
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	index, err := strconv.Atoi(f[0])
	if err != nil || index < 0 || f[1] == "" {
		return Device{}, false
	}
	var n [3]float64
	for i := range n {
		n[i], err = strconv.ParseFloat(f[2+i], 64)
		if err != nil || !(n[i] >= 0) || math.IsInf(n[i], 1) {
			return Device{}, false
		}
	}
	return Device{index, f[1], n[0], n[1], n[2]}, true
}

// Selection tells which devices are of interest. The zero value takes all.
type Selection struct {
	indices map[int]bool
	uuids   map[string]bool
}

// Select reads a value of CUDA_VISIBLE_DEVICES: a list of indices, or of UUIDs that begin with GPU- or MIG-. A list that is
// empty, or holds both or anything else, selects all. UUIDs must be complete; a MIG instance is no device that nvidia-smi
// lists, so a list of those alone selects nothing.
func Select(visible string) Selection {
	indices, uuids, entries := map[int]bool{}, map[string]bool{}, 0
	for e := range strings.SplitSeq(visible, ",") {
		e = strings.TrimSpace(e)
		if e == "" {
			continue
		}
		entries++
		if strings.HasPrefix(e, "GPU-") || strings.HasPrefix(e, "MIG-") {
			uuids[e] = true
		} else if strings.Trim(e, "0123456789") == "" {
			if n, err := strconv.Atoi(e); err == nil {
				indices[n] = true
			}
		} else {
			return Selection{}
		}
	}
	switch {
	case entries == 0 || len(indices) > 0 && len(uuids) > 0:
		return Selection{}
	case len(uuids) > 0:
		return Selection{uuids: uuids}
	}
	return Selection{indices: indices}
}

// Has reports whether d is of interest.
func (s Selection) Has(d Device) bool {
	switch {
	case s.indices != nil:
		return s.indices[d.Index]
	case s.uuids != nil:
		return s.uuids[d.UUID]
	}
	return true
}
