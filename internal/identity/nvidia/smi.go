package nvidia

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Program is the name of NVIDIA's tool, as it is looked for in the PATH.
const Program = "nvidia-smi"

// Query returns the arguments that make [Program] print a line for each device,
// of its index and the fields.
func Query(fields ...string) []string {
	return []string{"--query-gpu=index," + strings.Join(fields, ","), "--format=csv,noheader,nounits"}
}

// Row is the line of one device.
type Row struct {
	Index  int
	Fields []string // as asked for; empty where the tool says that it does not know
}

// Rows reads the answer to a [Query] of n fields. Lines of another shape, warnings
// for example, are no devices. A placeholder such as [N/A] or [Not Supported] is
// an empty field and costs nothing else.
func Rows(out string, n int) (rows []Row) {
	for line := range strings.Lines(out) {
		fields := strings.Split(line, ",")
		if len(fields) != n+1 {
			continue
		}
		index, err := strconv.Atoi(strings.TrimSpace(fields[0]))
		if err != nil || index < 0 {
			continue
		}
		fields = fields[1:]
		for i, field := range fields {
			fields[i] = known(field)
		}
		rows = append(rows, Row{index, fields})
	}
	return rows
}

func known(field string) string {
	field = strings.TrimSpace(field)
	if strings.HasPrefix(field, "[") || field == "N/A" {
		return ""
	}
	return strings.ToValidUTF8(field, "\ufffd")
}

// IsWarning reports whether the error of a run of [Program] is one beside a good
// answer: exit status 14 says that the infoROM of a device is corrupted, and every
// device is answered for.
func IsWarning(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == 14
}

// Run runs a program in a process group of its own where the system has such, and
// kills all of it when ctx ends. It returns what the program wrote to its standard
// output, also beside an error.
func Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out limited
	cmd.Stdout = &out
	cmd.WaitDelay = 500 * time.Millisecond // a grandchild may hold the pipe
	killGroup(cmd)
	err := cmd.Run()
	return out.buf.Bytes(), err
}

// MaxOutput bounds what [Run] reads; a device takes some hundred bytes.
const MaxOutput = 64 << 10

var errTooMuch = errors.New("its output is too long")

// limited keeps the first bytes and refuses the rest. The buffer is a field, as an
// embedded one would be filled past Write through its ReadFrom.
type limited struct{ buf bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.buf.Len()+len(p) > MaxOutput {
		return 0, errTooMuch
	}
	return l.buf.Write(p)
}
