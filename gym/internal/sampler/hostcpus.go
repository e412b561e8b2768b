package sampler

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// Resource attributes of [HostCPUs].
const (
	LogicalKey  = attribute.Key("nemo.gym.host.cpu_count_logical")
	PhysicalKey = attribute.Key("nemo.gym.host.cpu_count_physical")
)

// HostCPUs returns the number of logical cores this process may use, and the number of physical cores of the host where
// Linux tells it. Each is left out when it is not known. It reads files: call it once, for the resource.
func HostCPUs() []attribute.KeyValue {
	return hostCPUs(runtime.NumCPU(), physicalCores("/sys/devices/system/cpu"))
}

func hostCPUs(logical, physical int) (attrs []attribute.KeyValue) {
	if logical > 0 {
		attrs = append(attrs, LogicalKey.Int(logical))
	}
	if physical > 0 {
		attrs = append(attrs, PhysicalKey.Int(physical))
	}
	return attrs
}

// physicalCores counts the distinct sets of logical cores that share a physical one.
func physicalCores(root string) int {
	files, _ := filepath.Glob(filepath.Join(root, "cpu[0-9]*", "topology", "thread_siblings_list"))
	cores := map[string]bool{}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil {
			cores[strings.TrimSpace(string(text))] = true
		}
	}
	return len(cores)
}
