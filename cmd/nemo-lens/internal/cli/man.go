package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/nemo-lens/lens"
)

func newMan(s streams) *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages",
		Long:    "man writes a manual page for each command into FOLDER, which is made if need be.",
		Example: "  nemo-lens man ~/.local/share/man/man1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			// The pages depend on the version alone.
			day := time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)
			header := &doc.GenManHeader{Section: "1", Source: "nemo-lens " + lens.Version, Date: &day}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(s.err, "wrote the manual pages to %s\n", args[0])
			return err
		},
	}
}
