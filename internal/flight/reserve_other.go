//go:build unix && !linux && !aix && !solaris && !illumos

package flight

import "os"

const populate = 0

func reserve(file *os.File, size int) error { return writeZeros(file, size) }
