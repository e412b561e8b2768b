package postmortem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nemo-lens/lens/internal/flight"
)

// StepKey is the attribute that numbers the steps unless another is named.
const StepKey = "dl.iteration"

// maxFiles bounds the files of one run that are read.
const maxFiles = 200_000

// Options say what a report is about.
type Options struct {
	RunID   string // "": the run that started last
	StepKey string // the attribute that numbers the steps; "": StepKey
	Now     time.Time
}

// Report is what the processes of one run were doing.
type Report struct {
	Dir       string
	RunID     string
	OtherRuns []string // as the names of files have them
	WorldSize int
	Processes []*Process // by service, rank and start; only the last of those that were restarted
	Earlier   int        // files of processes that another has taken the place of
	Groups    []*Group   // those that diverged first, then the largest
	Missing   []int      // ranks of which there is no file
	Diverged  *Divergence
	// Unreadable has an error for each file that cannot be read.
	Unreadable []error

	all     []*Process // with those of which there is a later one
	stepKey string
	now     time.Time
}

// Load reads the files of a run in a directory. Files that cannot be read are told of
// in the report; the error is for a directory without any that can.
func Load(ctx context.Context, dir string, o Options) (*Report, error) {
	r := &Report{Dir: dir, stepKey: cmp.Or(o.StepKey, StepKey), now: o.Now}
	if r.now.IsZero() {
		r.now = time.Now()
	}
	paths, err := r.choose(ctx, dir, o.RunID)
	if err != nil {
		return nil, err
	}
	processes, err := r.readAll(ctx, paths, o.RunID)
	if err != nil {
		return nil, err
	}
	if len(processes) == 0 {
		if err := errors.Join(r.Unreadable[:min(len(r.Unreadable), 3)]...); err != nil {
			return nil, fmt.Errorf("none of the %d files in %s can be read:\n%w", len(paths), dir, err)
		}
		return nil, fmt.Errorf("no file in %s is of the run %q%s", dir, o.RunID, r.others())
	}
	r.keepLatest(processes)
	r.missing()
	r.diverge()
	r.fold()
	return r, nil
}

func (r *Report) others() string {
	switch n := len(r.OtherRuns); {
	case n == 0:
		return ""
	case n > 5:
		return fmt.Sprintf("; the %d runs there are %s, …", n, strings.Join(r.OtherRuns[:5], ", "))
	default:
		return "; the runs there are " + strings.Join(r.OtherRuns, ", ")
	}
}

// choose returns the files of the run, told by their names so that those of other
// runs are not opened, and those with names that do not tell.
func (r *Report) choose(ctx context.Context, dir, runID string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	type run struct {
		paths  []string
		newest time.Time
	}
	runs := map[string]*run{}
	var unnamed []string
	found := false
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := d.ReadDir(4096)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), flight.Suffix) || e.Type()&(fs.ModeDir|fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0 {
				continue
			}
			found = true
			path := filepath.Join(dir, e.Name())
			name, _, start, ok := flight.ParseName(e.Name())
			if !ok {
				unnamed = append(unnamed, path)
				continue
			}
			of := runs[name]
			if of == nil {
				of = &run{}
				runs[name] = of
			}
			of.paths = append(of.paths, path)
			if start.After(of.newest) {
				of.newest = start
			}
		}
		if errors.Is(err, io.EOF) || len(entries) == 0 && err == nil {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, fmt.Errorf("%s has no file of a flight recorder: the name of one ends with %s", dir, flight.Suffix)
	}
	chosen := flight.RunInName(runID)
	if runID == "" {
		chosen = ""
		for name, of := range runs {
			if chosen == "" || of.newest.After(runs[chosen].newest) {
				chosen = name
			}
		}
	} else if runs[chosen] == nil && runs[runID] != nil {
		chosen = runID // as a file's name has it
	}
	for name := range runs {
		if name != chosen {
			r.OtherRuns = append(r.OtherRuns, name)
		}
	}
	slices.Sort(r.OtherRuns)
	paths := unnamed
	if of := runs[chosen]; of != nil {
		paths = append(paths, of.paths...)
	}
	if len(paths) > maxFiles {
		return nil, fmt.Errorf("%s has %d files of the run %s; at most %d are read: move those of earlier restarts away", dir, len(paths), chosen, maxFiles)
	}
	slices.Sort(paths)
	return paths, nil
}

// readAll reads files side by side. Files with names of their own may be of other
// runs; without a run id, the run that has the most of them is taken.
func (r *Report) readAll(ctx context.Context, paths []string, runID string) ([]*Process, error) {
	processes := make([]*Process, len(paths))
	faults := make([]error, len(paths))
	var next atomic.Int64
	var readers sync.WaitGroup
	var names interner
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		readers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(paths) {
					return
				}
				f, err := flight.Read(paths[i])
				if err != nil {
					faults[i] = err
					continue
				}
				processes[i] = r.summarize(paths[i], f, &names)
			}
		})
	}
	readers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	processes = slices.DeleteFunc(processes, func(p *Process) bool { return p == nil })
	r.Unreadable = slices.DeleteFunc(faults, func(err error) bool { return err == nil })

	chosen := runID
	known := slices.ContainsFunc(processes, func(p *Process) bool { return p.RunID == runID })
	if runID == "" || !known && len(processes) > 0 && flight.RunInName(processes[0].RunID) == runID {
		count := map[string]int{}
		for _, p := range processes {
			if _, _, _, named := flight.ParseName(p.Path); named {
				count[p.RunID] += len(paths) // these were chosen by the run's start
			}
			count[p.RunID]++
		}
		for id, n := range count {
			if n > count[chosen] || n == count[chosen] && id < chosen {
				chosen = id
			}
		}
	}
	r.RunID = chosen
	for _, p := range processes {
		if name := flight.RunInName(p.RunID); p.RunID != chosen && !slices.Contains(r.OtherRuns, name) {
			r.OtherRuns = append(r.OtherRuns, name)
		}
	}
	return slices.DeleteFunc(processes, func(p *Process) bool { return p.RunID != chosen }), nil
}

// keepLatest leaves out processes that ended before another of the same service and
// rank began.
func (r *Report) keepLatest(all []*Process) {
	slices.SortFunc(all, func(a, b *Process) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Restart, b.Restart), a.Start.Compare(b.Start), cmp.Compare(a.Path, b.Path))
	})
	r.all = all
	for i, p := range all {
		r.WorldSize = max(r.WorldSize, p.WorldSize)
		replaced := false
		for _, later := range all[i+1:] {
			if later.Service != p.Service || later.Rank != p.Rank {
				break
			}
			replaced = replaced || later.Restart > p.Restart || later.Start.After(p.LastSeen.Add(2*time.Second))
		}
		if replaced {
			r.Earlier++
			continue
		}
		r.Processes = append(r.Processes, p)
	}
}

func (r *Report) missing() {
	if r.WorldSize < 2 {
		return
	}
	there := map[int]bool{}
	for _, p := range r.Processes {
		there[p.Rank] = true
	}
	for rank := range min(r.WorldSize, maxFiles) {
		if !there[rank] {
			r.Missing = append(r.Missing, rank)
		}
	}
}

// interner keeps one of each text.
type interner struct{ texts sync.Map }

func (n *interner) one(s string) string {
	if v, ok := n.texts.Load(s); ok {
		return v.(string)
	}
	v, _ := n.texts.LoadOrStore(strings.Clone(s), strings.Clone(s))
	return v.(string)
}
