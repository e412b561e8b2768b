package memprofile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// DefaultProcRoot is where Linux shows its processes.
const DefaultProcRoot = "/proc"

// ErrUnsupported is the reason why a profiler cannot run here.
var ErrUnsupported = errors.New("gym: no memory profile: it needs Linux with procfs")

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
