package connpool

import (
	"os"
	"strconv"
	"strings"
)

const portRangeFile = "/proc/sys/net/ipv4/ip_local_port_range"

// ReadHost asks the operating system: file descriptors on Unix, ephemeral ports on Linux.
func ReadHost() Host {
	h := Host{FDLimit: fdLimit()}
	if text, err := os.ReadFile(portRangeFile); err == nil {
		h.Ports = parsePortRange(string(text))
	}
	return h
}

// parsePortRange returns the size of a range such as "32768	60999", both ends included, or 0 for anything else.
func parsePortRange(text string) int {
	f := strings.Fields(text)
	if len(f) != 2 {
		return 0
	}
	low, err1 := strconv.ParseUint(f[0], 10, 16)
	high, err2 := strconv.ParseUint(f[1], 10, 16)
	if err1 != nil || err2 != nil || high < low {
		return 0
	}
	return int(high-low) + 1
}
