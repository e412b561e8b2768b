package memprofile

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"
	"sync/atomic"
)

// Memory is the memory of one process, in bytes.
type Memory struct {
	RSS    uint64
	PSS    uint64
	HasPSS bool // false: PSS could not be read
}

// Reader reads memory from a procfs. It is safe for concurrent use.
type Reader struct {
	root     string
	pageSize uint64
	noTree   atomic.Bool // the kernel has no task/<tid>/children
}

// NewReader reads below root, [DefaultProcRoot] if that is empty.
func NewReader(root string) *Reader {
	if root == "" {
		root = DefaultProcRoot
	}
	return &Reader{root: root, pageSize: uint64(os.Getpagesize())}
}

// Process reads smaps_rollup. Where that cannot be read or has no Rss line, statm gives RSS alone. It reports false
// for a process that is gone.
func (r *Reader) Process(pid int) (Memory, bool) {
	m, _, ok := r.process(pid, false)
	return m, ok
}

// process also reads the resident pages of statm, if the caller wants to follow them from here.
func (r *Reader) process(pid int, follow bool) (m Memory, resident uint64, ok bool) {
	var page [4096]byte // smaps_rollup is about 700 bytes
	text, err := readSmall(r.path(pid, "smaps_rollup"), page[:])
	if err != nil || len(text) == 0 {
		text, err = r.fromThreads(pid, "smaps_rollup", page[:])
	}
	if err == nil {
		if m, ok = parseRollup(text); ok {
			if follow {
				// Without statm the process has just gone, and the next sample will see that.
				resident, _ = r.resident(pid)
			}
			return m, resident, true
		}
	}
	resident, ok = r.resident(pid)
	if !ok {
		return Memory{}, 0, false
	}
	m = Memory{RSS: resident * r.pageSize}
	// No page resident, no share of any: that is a zombie, which has no smaps_rollup either.
	m.HasPSS = resident == 0
	return m, resident, true
}

// resident returns the second field of statm, in pages.
func (r *Reader) resident(pid int) (uint64, bool) {
	var page [256]byte
	text, err := readSmall(r.path(pid, "statm"), page[:])
	if err != nil {
		return 0, false
	}
	n, ok := parseResident(text)
	if n == 0 && ok {
		if text, err := r.fromThreads(pid, "statm", page[:]); err == nil {
			return parseResident(text)
		}
	}
	return n, ok
}

// fromThreads reads a file of another thread than the main one. Where the main thread has ended and others go on, the
// files of the process are as empty as those of a zombie.
func (r *Reader) fromThreads(pid int, name string, into []byte) ([]byte, error) {
	task := r.path(pid, "task")
	dir, err := os.Open(task)
	if err != nil {
		return nil, err
	}
	threads, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	for _, tid := range threads {
		if tid == strconv.Itoa(pid) {
			continue
		}
		// A thread that is ending has given its memory back, too.
		if text, err := readSmall(task+"/"+tid+"/"+name, into); err == nil && len(text) > 0 && !bytes.HasPrefix(text, []byte("0 0 ")) {
			return text, nil
		}
	}
	return nil, fs.ErrNotExist
}

// started returns when a process was started, in ticks since the boot: the 22nd field of stat.
func (r *Reader) started(pid int) (uint64, bool) {
	var page [1024]byte
	stat, err := readSmall(r.path(pid, "stat"), page[:])
	if err != nil {
		return 0, false
	}
	// The second field may hold any character; see parseParent.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(f[19]), 10, 64)
	return n, err == nil
}

// path is root/pid/name without the cleaning of package filepath: this runs for each process of each sample.
func (r *Reader) path(pid int, name string) string {
	b := make([]byte, 0, len(r.root)+len(name)+16)
	b = append(b, r.root...)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, '/')
	return string(append(b, name...))
}

// parseRollup finds the lines "Rss:" and "Pss:", in KiB. It reports false without the former.
//
// The procfs library reads the same file, but cannot tell a missing Pss line from a Pss of 0, and walks the much
// dearer smaps where smaps_rollup is missing.
func parseRollup(text []byte) (m Memory, ok bool) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if v, found := bytes.CutPrefix(line, []byte("Rss:")); found && !ok {
			m.RSS, ok = parseKiB(v)
		} else if v, found := bytes.CutPrefix(line, []byte("Pss:")); found && !m.HasPSS {
			m.PSS, m.HasPSS = parseKiB(v)
		}
	}
	if !ok {
		return Memory{}, false
	}
	return m, true
}

// parseKiB reads a value such as "   1736 kB" and returns bytes.
func parseKiB(v []byte) (uint64, bool) {
	v = bytes.TrimSpace(v)
	v, found := bytes.CutSuffix(v, []byte(" kB"))
	if !found {
		return 0, false
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(v)), 10, 64)
	if err != nil || n > 1<<53 {
		return 0, false
	}
	return n * 1024, true
}

// parseResident reads the second field of statm.
func parseResident(text []byte) (uint64, bool) {
	_, rest, found := bytes.Cut(text, []byte{' '})
	if !found {
		return 0, false
	}
	field, _, _ := bytes.Cut(rest, []byte{' '})
	n, err := strconv.ParseUint(string(bytes.TrimSpace(field)), 10, 64)
	if err != nil || n > 1<<48 {
		return 0, false
	}
	return n, true
}
