//go:build !unix || aix || solaris || illumos

package flight

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

func create(string, int) (*os.File, []byte, error) {
	return nil, nil, fmt.Errorf("files cannot be mapped into memory on %s by lens: %w", runtime.GOOS, errors.ErrUnsupported)
}

func seal([]byte) {}

func unmap([]byte) {}

func deleted(fs.FileInfo) bool { return false }
