package memprofile

// tree is a target and what is known of its processes. Only one sample at a time uses it.
type tree struct {
	target  Target
	started uint64 // of the target, as the kernel counts; 0 while it is not known
	procs   []proc
}

// isTarget reports whether the target's process id is still, or not known not to be, that of the process that it was
// given for: the kernel gives the id of one that is gone to another.
func (t *tree) isTarget(r *Reader) bool {
	now, ok := r.started(t.target.PID)
	if ok && t.started == 0 {
		t.started = now
	}
	return !ok || now == t.started
}

// proc is a process as of its last full read.
type proc struct {
	pid      int
	memory   Memory
	resident uint64 // pages, by statm at that time
}

// reading is what a sample found in a tree.
type reading = TreeMemory

// readFull walks the tree and reads every process. With follow it prepares for light reads.
func (t *tree) readFull(w *walker, follow bool) reading {
	t.procs = t.procs[:0]
	if !t.isTarget(w.reader) {
		return sum(nil)
	}
	all := make([]Memory, 0, 8)
	for _, pid := range w.pids(t.target.PID) {
		m, resident, ok := w.reader.process(pid, follow)
		if !ok {
			continue // it has just gone
		}
		t.procs = append(t.procs, proc{pid, m, resident})
		all = append(all, m)
	}
	return sum(all)
}

// readLight moves the RSS of the processes known by what statm says has changed since their full read, and drops
// those that are gone.
func (t *tree) readLight(r *Reader) reading {
	if !t.isTarget(r) {
		t.procs = t.procs[:0]
		return sum(nil)
	}
	all := make([]Memory, 0, 8)
	kept := t.procs[:0]
	for _, p := range t.procs {
		resident, ok := r.resident(p.pid)
		if !ok {
			continue
		}
		kept = append(kept, p)
		all = append(all, p.moved(resident, r.pageSize))
	}
	t.procs = kept
	return sum(all)
}

// moved is the process's memory now that resident pages are in.
func (p proc) moved(resident, pageSize uint64) Memory {
	if resident == 0 {
		return Memory{HasPSS: true}
	}
	m := p.memory
	if resident >= p.resident {
		m.RSS += (resident - p.resident) * pageSize
	} else {
		m.RSS -= min(m.RSS, (p.resident-resident)*pageSize)
	}
	m.PSS = min(m.PSS, m.RSS) // a share is never more than the whole
	return m
}
