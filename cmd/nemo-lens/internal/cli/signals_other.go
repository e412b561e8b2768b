//go:build !unix

package cli

import "os"

func passedOn(bool) []os.Signal { return []os.Signal{os.Interrupt} }

func killedBy(*os.ProcessState) (number int, name string, ok bool) { return 0, "", false }
