// Command nemo-lens looks at what a run recorded, without a backend, and helps
// where programs are launched.
//
//	go install github.com/nemo-lens/lens/cmd/nemo-lens@latest
//	nemo-lens view spans.jsonl
//
// nemo-lens help lists the commands; each has an example in its own --help. The
// exit status is 0 when all went well, 1 when something could not be read or
// done, and 2 when the command line or the environment is wrong; run gives that
// of its command.
package main

import (
	"os"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
