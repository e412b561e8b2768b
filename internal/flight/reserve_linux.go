package flight

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// populate makes the first store to a page find it in memory.
const populate = unix.MAP_POPULATE

func reserve(file *os.File, size int) error {
	for {
		err := unix.Fallocate(int(file.Fd()), 0, 0, int64(size))
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM):
			// File systems without it, and sandboxes that forbid it.
			return writeZeros(file, size)
		default:
			return os.NewSyscallError("fallocate", err)
		}
	}
}
