package trace

import (
	"strconv"
	"strings"
)

// Process is who made a span, as its resource says.
type Process struct {
	Run      string
	Service  string
	Instance string
	Server   string // of a fleet of NeMo Gym servers
	Host     string
	Rank     int // None: unknown
	World    int // None: unknown
	PID      int64
}

// Label is what people call the process: the name of its server in a fleet, each of
// which is rank 0 of 1, else its rank, else its service and process id.
func (p *Process) Label() string {
	switch {
	case p.Server != "":
		return p.Server
	case p.Rank >= 0:
		return "rank " + strconv.Itoa(p.Rank)
	case p.PID != 0 && p.Service != "":
		return p.Service + "/" + strconv.FormatInt(p.PID, 10)
	case p.Service != "":
		return p.Service
	case p.Instance != "":
		return p.Instance
	}
	return "unknown"
}

// shortRun keeps an id readable in a line of text.
func shortRun(run string) string {
	if len(run) > 12 {
		return strings.ToValidUTF8(run[:12], "")
	}
	return run
}

// Labels are the labels of all processes, each one only once: of processes with
// the same label, the run, the host or a number is added.
func (s *Store) Labels() []string {
	labels := make([]string, len(s.Processes))
	tell := []func(*Process) string{
		func(p *Process) string { return p.Service },
		func(p *Process) string { return shortRun(p.Run) },
		func(p *Process) string { return p.Host },
		func(p *Process) string { return strconv.FormatInt(p.PID, 10) },
	}
	for i := range s.Processes {
		labels[i] = s.Processes[i].Label()
	}
	for _, more := range tell {
		// Only what tells them apart.
		values := map[string]map[string]bool{}
		for i, l := range labels {
			if values[l] == nil {
				values[l] = map[string]bool{}
			}
			values[l][more(&s.Processes[i])] = true
		}
		for i, l := range labels {
			if text := more(&s.Processes[i]); len(values[l]) > 1 && text != "" {
				labels[i] = l + " (" + text + ")"
			}
		}
	}
	seen := map[string]int{}
	for i, l := range labels {
		if seen[l]++; seen[l] > 1 {
			labels[i] = l + " #" + strconv.Itoa(seen[l])
		}
	}
	return labels
}
