//go:build unix

package main

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// alive reports whether the process runs.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	return syscall.Kill(n, 0) == nil
}
