//go:build unix && !aix && !solaris && !illumos

package flight

import (
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// create makes a file whose blocks are reserved and maps it.
func create(path string, size int) (file *os.File, mem []byte, err error) {
	file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	if err := reserve(file, size); err != nil {
		return nil, nil, err
	}
	mem, err = unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|populate)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return file, mem, nil
}

// writeZeros reserves the blocks where there is no call for it.
func writeZeros(file *os.File, size int) error {
	zeros := make([]byte, 64<<10)
	for at := 0; at < size; at += len(zeros) {
		if _, err := file.WriteAt(zeros[:min(len(zeros), size-at)], int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// seal puts memory that cannot be touched in the place of the file. The addresses stay
// taken: a store that comes too late is a fault, which ends in this package, and never
// a store into what somebody else has been given there.
func seal(mem []byte) {
	_, _ = unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(mem)), uintptr(len(mem)),
		unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED)
}

// unmap is for memory that nobody uses any more.
func unmap(mem []byte) { _ = unix.Munmap(mem) }

func deleted(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
