// Command lensvet checks programs that use lens for what the compiler lets pass
// and what costs memory in a long run: loops that make a chain of contexts
// without end.
//
//	go install github.com/nemo-lens/lens/cmd/lensvet@latest
//	go vet -vettool=$(which lensvet) ./...
//
// or by itself, without the other checks' cache: lensvet ./...
//
// The exit status is that of go vet: not 0 when something was found.
package main

import (
	"golang.org/x/tools/go/analysis/singlechecker"

	"github.com/nemo-lens/lens/cmd/lensvet/internal/ctxloop"
)

func main() { singlechecker.Main(ctxloop.Analyzer) }
