package postmortem

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"time"
)

type jsonReport struct {
	RunID      string        `json:"run_id"`
	WorldSize  int           `json:"world_size"`
	OtherRuns  []string      `json:"other_runs,omitempty"`
	Earlier    int           `json:"restarted_processes_left_out,omitempty"`
	Missing    string        `json:"missing_ranks,omitempty"`
	Diverged   *jsonDiverged `json:"diverged,omitempty"`
	Groups     []jsonGroup   `json:"groups"`
	Processes  []jsonProcess `json:"processes"`
	Unreadable []string      `json:"unreadable,omitempty"`
}

type jsonDiverged struct {
	Step       int64  `json:"step"`
	Span       string `json:"span,omitempty"`
	Finished   string `json:"finished_by_ranks"`
	Unfinished string `json:"not_finished_by_ranks"`
}

type jsonGroup struct {
	Ranks     string     `json:"ranks"`
	Processes int        `json:"processes"`
	State     State      `json:"state"`
	In        *jsonPlace `json:"in,omitempty"`
	Shortest  float64    `json:"shortest_seconds"`
	Longest   float64    `json:"longest_seconds"`
}

type jsonPlace struct {
	Span    string  `json:"span"`
	Step    *int64  `json:"step,omitempty"`
	Seconds float64 `json:"seconds"`
}

type jsonProcess struct {
	Path       string     `json:"path"`
	Service    string     `json:"service,omitempty"`
	Host       string     `json:"host"`
	PID        int64      `json:"pid"`
	Rank       int        `json:"rank"`
	Restart    int        `json:"restart"`
	State      State      `json:"state"`
	Start      time.Time  `json:"start"`
	LastSeen   time.Time  `json:"last_seen"`
	Open       int        `json:"open_spans"`
	MissedOpen uint64     `json:"open_spans_without_slot,omitempty"`
	Absent     int        `json:"absent_slots,omitempty"`
	ClockJump  float64    `json:"clock_jump_seconds,omitempty"`
	In         *jsonPlace `json:"in,omitempty"`
	Last       *jsonPlace `json:"finished_last,omitempty"`
}

// JSON writes the report for programs: one object.
func (r *Report) JSON(out io.Writer) error {
	j := jsonReport{
		RunID: r.RunID, WorldSize: r.WorldSize, OtherRuns: r.OtherRuns, Earlier: r.Earlier, Missing: Ranges(r.Missing),
		Groups: []jsonGroup{}, Processes: []jsonProcess{},
	}
	for _, err := range r.Unreadable {
		j.Unreadable = append(j.Unreadable, err.Error())
	}
	if d := r.Diverged; d != nil {
		j.Diverged = &jsonDiverged{Step: d.Step, Span: d.Span, Finished: ranksOf(d.Ahead), Unfinished: ranksOf(d.Behind)}
	}
	for _, g := range r.Groups {
		j.Groups = append(j.Groups, jsonGroup{
			Ranks: ranksOf(g.Processes), Processes: len(g.Processes), State: g.State, In: jsonOf(g.In),
			Shortest: g.Shortest.Seconds(), Longest: g.Longest.Seconds(),
		})
	}
	for _, p := range r.Processes {
		j.Processes = append(j.Processes, jsonProcess{
			Path: p.Path, Service: p.Service, Host: p.Host, PID: p.PID, Rank: p.Rank, Restart: p.Restart, State: p.State,
			Start: p.Start.UTC(), LastSeen: p.LastSeen.UTC(), Open: p.Open, MissedOpen: p.MissedOpen, Absent: p.Absent,
			ClockJump: p.ClockJump.Seconds(), In: jsonOf(p.In), Last: jsonOf(p.Last),
		})
	}
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(j); err != nil {
		return err
	}
	return w.Flush()
}

func jsonOf(p *Place) *jsonPlace {
	if p == nil {
		return nil
	}
	j := &jsonPlace{Span: p.Name, Seconds: p.For.Seconds()}
	if p.HasStep {
		j.Step = &p.Step
	}
	return j
}

func ranksOf(ps []*Process) string {
	ranks := make([]int, len(ps))
	for i, p := range ps {
		ranks[i] = p.Rank
	}
	slices.Sort(ranks)
	return Ranges(ranks)
}
