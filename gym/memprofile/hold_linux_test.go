package memprofile

import (
	"os"
	"syscall"
)

// hold keeps size bytes resident.
func hold(size int) {
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(mem); i += os.Getpagesize() {
		mem[i] = 1
	}
	ready()
	_ = syscall.Munmap(mem)
}
