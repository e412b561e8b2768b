package memprofile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// TreeMemory is the memory of a process tree, in bytes.
type TreeMemory struct {
	RSS       uint64
	PSS       uint64
	HasPSS    bool // false: the PSS of at least one process could not be read, and PSS is 0
	Processes int  // those whose memory was read
}

// Tree reads the memory of root and of every process below it. For a root that is gone everything is 0.
func (r *Reader) Tree(root int) TreeMemory {
	var all []Memory
	for _, pid := range r.PIDs(root) {
		if m, ok := r.Process(pid); ok {
			all = append(all, m)
		}
	}
	return sum(all)
}

// sum adds up processes; none at all have a PSS of 0, not an unknown one.
func sum(all []Memory) TreeMemory {
	t := TreeMemory{HasPSS: true, Processes: len(all)}
	for _, m := range all {
		t.RSS += m.RSS
		t.PSS += m.PSS
		t.HasPSS = t.HasPSS && m.HasPSS
	}
	if !t.HasPSS {
		t.PSS = 0
	}
	return t
}

// PIDs returns root and every process below it, root first. What cannot be read is left out; root always stays in.
func (r *Reader) PIDs(root int) []int { return (&walker{reader: r}).pids(root) }

// walker finds trees for one sample. If it has to scan the host, it does so once for all of them.
type walker struct {
	reader  *Reader
	scanned parents
}

func (w *walker) pids(root int) []int {
	if root <= 0 {
		return []int{root} // no process, but the parent of the first ones by their own account
	}
	if !w.reader.noTree.Load() {
		if pids, ok := walk(root, w.reader.children); ok {
			return pids
		}
		w.reader.noTree.Store(true)
	}
	if w.scanned == nil {
		w.scanned = w.reader.scan()
	}
	pids, _ := walk(root, func(pid int, into []int) ([]int, bool) { return append(into, w.scanned[pid]...), true })
	return pids
}

// walk follows children from root. It reports false when children cannot be told at all.
func walk(root int, children func(pid int, into []int) ([]int, bool)) ([]int, bool) {
	pids := []int{root}
	for i := 0; i < len(pids); i++ {
		found, ok := children(pids[i], nil)
		if !ok {
			return nil, false
		}
		for _, pid := range found {
			// Trees are small, and looking through them beats a map.
			if !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids, true
}

// children lists the processes that any thread of pid started. It reports false if the kernel does not tell.
func (r *Reader) children(pid int, into []int) ([]int, bool) {
	task := r.path(pid, "task")
	dir, err := os.Open(task)
	if err != nil {
		return into, true
	}
	threads, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	var page [4096]byte
	for _, tid := range threads {
		file := task + "/" + tid + "/children"
		text, err := readSmall(file, page[:])
		if len(text) == len(page) { // more than some 600 children
			text, err = os.ReadFile(file)
		}
		if errors.Is(err, fs.ErrNotExist) {
			// Either the thread ended, or there is no such file for any thread.
			if _, err := os.Stat(task + "/" + tid); err == nil {
				return into, false
			}
		}
		if err == nil {
			into = appendPIDs(into, text)
		}
	}
	return into, true
}

func appendPIDs(into []int, text []byte) []int {
	for f := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(f)); err == nil && pid > 0 {
			into = append(into, pid)
		}
	}
	return into
}

// parents maps a process to those it started.
type parents map[int][]int

// scan reads the parent of every process of the host.
func (r *Reader) scan() parents {
	p := parents{}
	entries, err := os.ReadDir(r.root)
	if err != nil {
		return p
	}
	var page [1024]byte
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid <= 0 {
			continue
		}
		text, err := readSmall(filepath.Join(r.root, e.Name(), "stat"), page[:])
		if err != nil {
			continue
		}
		if parent, ok := parseParent(text); ok {
			p[parent] = append(p[parent], pid)
		}
	}
	return p
}

// parseParent reads the fourth field of stat. The second is the program's name in parentheses and may hold any
// character, so the fields are counted from the last parenthesis.
func parseParent(stat []byte) (int, bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, false
	}
	f := bytes.Fields(stat[end+1:])
	if len(f) < 2 {
		return 0, false
	}
	pid, err := strconv.Atoi(string(f[1]))
	return pid, err == nil && pid >= 0
}
