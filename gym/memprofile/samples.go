package memprofile

// tree is a target and what is known of its processes. Only one sample at a time uses it.
type tree struct {
	target Target
	procs  []proc
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
