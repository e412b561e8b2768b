package detect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// smiArgs ask for one line for each GPU, in the order of indices.
var smiArgs = []string{
	"--query-gpu=name,uuid,serial,pci.bus_id,compute_cap,memory.total,driver_version",
	"--format=csv,noheader,nounits",
}

const smiFields = 7

// smiOnce returns a function that asks nvidia-smi the first time, if that is
// allowed, and remembers the answer. Whatever goes wrong is a warning.
func (d *detector) smiOnce() func() []gpu {
	return sync.OnceValue(func() []gpu {
		if !d.NvidiaSMI {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), d.NvidiaSMITimeout)
		defer cancel()
		out, err := d.Run(ctx, "nvidia-smi", smiArgs...)
		switch {
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

// parseSMI reads the answer. A line of another shape is a device about which
// nothing is known, so that the others keep their indices.
func parseSMI(out string) (list []gpu) {
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Split(line, ",")
		for i, field := range fields {
			fields[i] = known(field)
		}
		if len(fields) != smiFields {
			list = append(list, gpu{})
			continue
		}
		list = append(list, gpu{
			model: fields[0], uuid: fields[1], serial: fields[2], bus: busID(fields[3]),
			capability: fields[4], memory: parseMiB(fields[5]), driverVersion: fields[6],
		})
	}
	return list
}

// known drops the placeholders of nvidia-smi: [N/A], [Not Supported] and the
// like.
func known(field string) string {
	field = strings.TrimSpace(field)
	if strings.HasPrefix(field, "[") || field == "N/A" {
		return ""
	}
	return strings.ToValidUTF8(field, "\ufffd")
}

// run runs a program in a process group of its own where the system has such,
// and kills all of it when ctx ends.
func run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out limited
	cmd.Stdout = &out
	cmd.WaitDelay = 500 * time.Millisecond // a grandchild may hold the pipe
	killGroup(cmd)
	err := cmd.Run()
	return out.buf.Bytes(), err
}

var errTooMuch = errors.New("its output is too long")

// limited keeps the first 64 KiB and refuses the rest. The buffer is a field, as
// an embedded one would be filled past Write through its ReadFrom.
type limited struct{ buf bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.buf.Len()+len(p) > maxFile {
		return 0, errTooMuch
	}
	return l.buf.Write(p)
}
