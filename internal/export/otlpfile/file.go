package otlpfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/nemo-lens/lens/internal/export/wholeline"
	"github.com/nemo-lens/lens/internal/report"
)

// DefaultName is the name of the file when none is given.
const DefaultName = "nemo-lens-{run_id}-{rank}-{pid}.jsonl"

// Name fills in {run_id}, {rank} and {pid}. A process without a rank is "none". What is
// no letter, digit, dot, hyphen or underscore in a run id becomes an underscore, so that
// it can neither leave the folder nor be refused by a file system.
func Name(pattern, runID string, rank, pid int) string {
	number := "none"
	if rank >= 0 {
		number = strconv.Itoa(rank)
	}
	return strings.NewReplacer("{run_id}", safe(runID), "{rank}", number, "{pid}", strconv.Itoa(pid)).Replace(pattern)
}

func safe(text string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, text)
	if strings.Trim(out, ".") == "" {
		out = strings.Repeat("_", max(len(out), 1))
	}
	const most = 100 // names of files have 255 bytes
	return out[:min(len(out), most)]
}

// File takes whole lines. It is safe for concurrent use.
type File struct {
	path string
	size int64 // at which it is rotated; 0: never
	keep int   // rotated files
	flag int

	mu      sync.Mutex
	file    *os.File
	out     *wholeline.Writer
	written int64
	closed  bool
}

// Open opens the file at path for appending and makes its folder if need be. A file
// that has reached size bytes is renamed to path.1, what was path.1 to path.2 and so on
// up to keep, and a new one is begun; 0 means never. flag is added to those of
// os.OpenFile.
func Open(path string, size int64, keep, flag int) (*File, error) {
	f := &File{path: path, size: size, keep: max(keep, 1), flag: flag}
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	return f, f.open()
}

func (f *File) open() error {
	mode := os.O_RDWR // to see how it ends
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() {
		mode = os.O_WRONLY
	}
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|mode|f.flag, 0o644)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.out, f.written = file, wholeline.New(file), info.Size()
	if n := info.Size(); n > 0 && info.Mode().IsRegular() {
		var last [1]byte
		if _, err := file.ReadAt(last[:], n-1); err == nil && last[0] != '\n' {
			// Somebody died in the middle of a line: ours must not become a part of it.
			if _, err := f.out.Write([]byte{'\n'}); err != nil {
				return errors.Join(err, file.Close())
			}
		}
	}
	return nil
}

// Write writes one line, or several whole ones.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, fmt.Errorf("lens: %s: %w", f.path, os.ErrClosed)
	}
	if f.out == nil || f.size > 0 && f.written > 0 && f.written+int64(len(line)) > f.size {
		if err := f.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := f.out.Write(line)
	f.written += int64(n)
	return n, err
}

// rotate makes room under the name of the file. After an error the next write tries
// again; nothing is lost by it but the line that was to be written.
func (f *File) rotate() error {
	if f.file != nil {
		have, err := f.file.Stat()
		// Windows renames no file that is open.
		_ = f.file.Close()
		f.file, f.out = nil, nil
		// Another process that writes to the same file may have renamed it already.
		if at, statErr := os.Stat(f.path); err == nil && statErr == nil && os.SameFile(have, at) && at.Mode().IsRegular() {
			if err := f.shift(); err != nil {
				return errors.Join(err, f.open())
			}
		}
	}
	return f.open()
}

func (f *File) shift() error {
	name := func(n int) string { return f.path + "." + strconv.Itoa(n) }
	for n := f.keep - 1; n >= 1; n-- {
		if err := os.Rename(name(n), name(n+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	// Another process that writes to the same file may rename it at the same moment.
	if err := os.Rename(f.path, name(1)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Close closes the file. Closing twice does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// lines is what the exporters write to.
type lines struct {
	out io.Writer
	log *report.Log

	mu   sync.Mutex
	line []byte
	done bool
}
