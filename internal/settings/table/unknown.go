package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nemo-lens/lens/internal/report/nearest"
	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// unknown describes the variables under the prefixes that name no setting. What
// Kubernetes injects for a Service whose name is like the prefix is passed over.
func unknown(env envtext.Environment, settings []Setting, prefixes []string, declared func(string) bool) []string {
	var keys []string
	for _, s := range settings {
		if !s.bare {
			keys = append(keys, s.Key)
		}
	}
	var out []string
	for name, value := range env {
		for _, p := range prefixes {
			key, ok := strings.CutPrefix(name, p+"_")
			if !ok || slices.Contains(keys, key) || declared(name) || fromKubernetes(key, value) || ownedByLonger(name, p, prefixes) {
				continue
			}
			// Known names are upper case; a name in another case is misspelt, too.
			near := strings.Replace(nearest.DidYouMean(key, keys), `"`, `"`+p+"_", 1)
			out = append(out, fmt.Sprintf("variable %s is not one that lens reads%s", name, near))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ownedByLonger reports whether another of the prefixes fits the name better:
// with the prefixes A and A_B, the variable A_B_X is not one of A.
func ownedByLonger(name, prefix string, prefixes []string) bool {
	for _, p := range prefixes {
		if len(p) > len(prefix) && strings.HasPrefix(name, p+"_") {
			return true
		}
	}
	return false
}

// fromKubernetes reports whether a variable is one that the kubelet makes for
// a Service: <NAME>_SERVICE_HOST, <NAME>_SERVICE_PORT, <NAME>_PORT and
// <NAME>_PORT_<number>_<protocol>… . No variable of lens has such a name.
func fromKubernetes(key, value string) bool {
	padded := "_" + key + "_"
	return strings.Contains(padded, "_SERVICE_HOST_") || strings.Contains(padded, "_SERVICE_PORT_") ||
		strings.Contains(padded, "_PORT_") || strings.HasPrefix(strings.TrimSpace(value), "tcp://") ||
		strings.HasPrefix(strings.TrimSpace(value), "udp://")
}
