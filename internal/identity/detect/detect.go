package detect

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity/nvidia"
	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// SlurmTable chooses the SLURM attributes.
type SlurmTable int

const (
	// SlurmBase is the table of NeMo Lens v0.2.0.
	SlurmBase SlurmTable = iota
	// SlurmNewer is the table of newer versions, with inherited values.
	SlurmNewer
)

// Options says what to detect and from where. The zero value reads the
// environment and files of this process and starts nothing.
type Options struct {
	// Lookup reads a variable; nil is os.LookupEnv.
	Lookup func(string) (string, bool)
	// Root is the directory in place of "/", for tests.
	Root string
	// Slurm chooses the SLURM table.
	Slurm SlurmTable
	// GPUIdentity adds the nv.gpu attributes of the GPU of this process.
	GPUIdentity bool
	// LocalRank is the local rank for GPUIdentity; empty reads it from the
	// environment, and text that is not a number counts as 0.
	LocalRank string
	// ProcessStart adds process.creation.time.
	ProcessStart bool
	// NvidiaSMI allows to run nvidia-smi for what the files do not say.
	NvidiaSMI bool
	// NvidiaSMITimeout bounds that run, 5 s if it is not positive. The process
	// is killed then.
	NvidiaSMITimeout time.Duration
	// Run replaces the way a program is run, for tests.
	Run Runner
}

// Runner runs a program until it ends or ctx does, and returns what it wrote to
// its standard output.
type Runner func(ctx context.Context, name string, args ...string) ([]byte, error)

// Detect describes this process. The attributes come in the order local, SLURM,
// Kubernetes; where a key occurs twice the later one counts. What cannot be
// detected is left out.
func Detect(opts Options) ([]attribute.KeyValue, []envtext.Warning) {
	d := newDetector(opts)
	attrs := d.local()
	if d.Slurm == SlurmNewer {
		attrs = append(attrs, d.slurmNewer()...)
	} else {
		attrs = append(attrs, Slurm(d.Lookup)...)
	}
	attrs = append(attrs, d.kubernetes()...)
	return attrs, d.warnings
}

// detector is one run of Detect.
type detector struct {
	Options
	warnings []envtext.Warning
	driver   driver
	smi      func() []gpu // runs nvidia-smi at most once, and only if allowed
}

func newDetector(opts Options) *detector {
	if opts.Lookup == nil {
		opts.Lookup = os.LookupEnv
	}
	if opts.Root == "" {
		opts.Root = "/"
	}
	if opts.NvidiaSMITimeout <= 0 {
		opts.NvidiaSMITimeout = 5 * time.Second
	}
	if opts.Run == nil {
		opts.Run = nvidia.Run
	}
	d := &detector{Options: opts}
	d.driver = driver{root: opts.Root}
	d.smi = d.smiOnce()
	return d
}

func (d *detector) warn(text string) { d.warnings = append(d.warnings, envtext.Warning(text)) }

// env returns a variable's text, empty if it is not set.
func (d *detector) env(name string) string {
	text, _ := d.Lookup(name)
	return text
}

// maxFile bounds what is read of a file; those of the driver have some hundred
// bytes.
const maxFile = 64 << 10

// readFile reads the file at the path below root. Unreadable is as good as
// absent.
func readFile(root string, path ...string) string {
	f, err := os.Open(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // read only: closing loses nothing
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(data)
}
