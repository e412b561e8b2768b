package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity/detect"
	"github.com/nemo-lens/lens/internal/identity/resattr"
	"github.com/nemo-lens/lens/semconv"
)

func newSetSlurm(s streams) *cobra.Command {
	var stage, image string
	cmd := &cobra.Command{
		Use:   "set-slurm-resource-attrs --stage sbatch|task",
		Short: "Print the export of OTEL_RESOURCE_ATTRIBUTES with what SLURM says of the job",
		Long: `set-slurm-resource-attrs prints one line for a shell to evaluate: OTEL_RESOURCE_ATTRIBUTES with
the attributes of the SLURM job. What the variable holds already wins. In the batch script,
--stage sbatch leaves out what belongs to one task; in the task, --stage task adds its host.`,
		Example: "  eval \"$(nemo-lens set-slurm-resource-attrs --stage sbatch)\"\n" +
			"  srun bash -c 'eval \"$(nemo-lens set-slurm-resource-attrs --stage task)\"; exec python train.py'",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			line, warnings, err := slurmExport(stage, image, s.env)
			for _, w := range warnings {
				fmt.Fprintln(s.err, "nemo-lens set-slurm-resource-attrs:", w)
			}
			if err != nil {
				return usageError{err}
			}
			_, err = fmt.Fprintln(s.out, line)
			return err
		},
	}
	cmd.Flags().StringVar(&stage, "stage", "", "sbatch or task")
	cmd.Flags().StringVar(&image, "container-image", "", "image of the task's container, with --stage task")
	_ = cmd.RegisterFlagCompletionFunc("stage", cobra.FixedCompletions([]string{"sbatch", "task"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// slurmExport is the line for the shell.
func slurmExport(stage, image string, env func(string) string) (line string, warnings []string, err error) {
	switch {
	case stage != "sbatch" && stage != "task":
		return "", nil, fmt.Errorf("--stage is %q: want sbatch or task", stage)
	case stage == "sbatch" && image != "":
		return "", nil, errors.New("--container-image goes with --stage task: a batch script has no container of its own")
	}
	derived, found := detect.DeriveSlurm(func(name string) (string, bool) {
		text := env(name)
		return text, text != ""
	})
	for _, w := range found {
		warnings = append(warnings, w.String())
	}
	if stage == "sbatch" {
		derived = slices.DeleteFunc(derived, func(kv attribute.KeyValue) bool {
			return strings.HasPrefix(string(kv.Key), "slurm.topology.")
		})
	} else {
		if host, err := os.Hostname(); err == nil && host != "" {
			derived = append(derived, attribute.String("host.name", host))
		}
		if image != "" {
			derived = append(derived, semconv.NVDLLaunchContainerImageKey.String(image))
		}
	}
	text, more := resattr.Extend(env(resattr.EnvVar), derived, nil)
	return "export " + resattr.EnvVar + "=" + shellQuote(text), append(warnings, more...), nil
}

// shellQuote quotes as Python's shlex does, which the reference uses: text of harmless
// characters stays as it is.
func shellQuote(text string) string {
	harmless := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !harmless(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'"'"'`) + "'"
}
