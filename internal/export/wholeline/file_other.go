//go:build !unix

package wholeline

import "os"

func writeFile(f *os.File, p []byte) (int, error) { return f.Write(p) }
