//go:build unix

package wholeline

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// inode tells two descriptors of one pipe from two pipes.
type inode struct{ dev, ino uint64 }

// pipes has one mutex for each pipe or socket written to. An fcntl lock belongs
// to the whole process: without the mutex, one goroutine's unlock would release
// the lock under another's write. It grows by one entry for each distinct pipe.
var pipes sync.Map // inode -> *sync.Mutex

// writeFile writes p through the descriptor itself. (*os.File).Write would turn
// EPIPE on descriptors 1 and 2 into SIGPIPE.
func writeFile(f *os.File, p []byte) (int, error) {
	rc, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var werr error
	err = rc.Write(func(fd uintptr) bool {
		unlock := lockPipe(int(fd))
		defer unlock()
		n, werr = writeAll(int(fd), p)
		return true
	})
	switch {
	case err == nil:
		err = werr
	case !errors.Is(err, os.ErrDeadlineExceeded):
		// The function above never asks to be called again, so what is left is
		// the runtime's unexported error for a file that was closed.
		err = os.ErrClosed
	}
	if err != nil {
		return n, &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return n, nil
}

func writeAll(fd int, p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := unix.Write(fd, p[done:])
		if n > 0 {
			done += n
		}
		switch err {
		case nil:
			if n == 0 {
				return done, io.ErrUnexpectedEOF
			}
		case unix.EINTR:
		case unix.EAGAIN:
			// Another holder of the same pipe made it non-blocking. Wait here
			// rather than in the runtime's poller, which may not know this file.
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			if _, err := unix.Poll(fds, 1000); err != nil && err != unix.EINTR {
				return done, err
			}
		default:
			return done, err
		}
	}
	return done, nil
}

// lockPipe takes the lock that keeps lines of several processes apart and
// returns what releases it. Regular files need none, and on a network file
// system the lock itself could hang.
func lockPipe(fd int) (unlock func()) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return func() {}
	}
	if mode := uint32(st.Mode) & unix.S_IFMT; mode != unix.S_IFIFO && mode != unix.S_IFSOCK {
		return func() {}
	}
	m, _ := pipes.LoadOrStore(inode{uint64(st.Dev), uint64(st.Ino)}, new(sync.Mutex))
	mu := m.(*sync.Mutex)
	mu.Lock()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := setLock(fd, &lock); err != nil {
		return mu.Unlock
	}
	return func() {
		lock.Type = unix.F_UNLCK
		_ = setLock(fd, &lock)
		mu.Unlock()
	}
}

func setLock(fd int, lock *unix.Flock_t) error {
	for {
		err := unix.FcntlFlock(uintptr(fd), unix.F_SETLKW, lock)
		if err != unix.EINTR {
			return err
		}
	}
}
