package memprofile

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// HostMemory is the memory of the host, in bytes.
type HostMemory struct{ Total, Available uint64 }

// Used is total minus available.
func (h HostMemory) Used() uint64 {
	if h.Available > h.Total {
		return 0
	}
	return h.Total - h.Available
}

// Host reads MemTotal and MemAvailable from meminfo.
func (r *Reader) Host() (HostMemory, error) {
	root, err := procfs.NewFS(r.root)
	if err != nil {
		return HostMemory{}, fmt.Errorf("lens: read the host's memory: %w", err)
	}
	m, err := root.Meminfo()
	if err != nil {
		return HostMemory{}, fmt.Errorf("lens: read the host's memory: %w", err)
	}
	if m.MemTotalBytes == nil || m.MemAvailableBytes == nil {
		return HostMemory{}, fmt.Errorf("lens: read the host's memory: %s/meminfo has no MemTotal or no MemAvailable, which needs Linux 3.14", r.root)
	}
	return HostMemory{Total: *m.MemTotalBytes, Available: *m.MemAvailableBytes}, nil
}
