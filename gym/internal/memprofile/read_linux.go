package memprofile

import (
	"syscall"
)

// readSmall reads a file of procfs into buf, and what does not fit is left out. It is three system calls, where
// os.ReadFile makes twice as many to find out about size and polling.
func readSmall(path string, buf []byte) ([]byte, error) {
	fd, err := ignoringEINTR(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	n := 0
	for n < len(buf) {
		m, err := ignoringEINTR(func() (int, error) { return syscall.Read(fd, buf[n:]) })
		if err != nil {
			return nil, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	return buf[:n], nil
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			return n, err
		}
	}
}
