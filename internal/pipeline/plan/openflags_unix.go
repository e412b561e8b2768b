//go:build unix

package plan

import "syscall"

// openFlags make the opening of a named pipe that nobody reads an error; without
// them it would wait for a reader for ever.
const openFlags = syscall.O_NONBLOCK
