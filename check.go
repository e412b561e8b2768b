//go:build !lens_noop

package lens

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/pipeline/plan"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

// mostRanks bounds the ranks that Check asks the export strategy about.
const mostRanks = 1 << 20

// Check resolves cfg and opts as [SetupTelemetry] would, sets nothing up, and asks each
// receiver with an empty request whether it would take what is sent. timeout bounds
// each of these questions; 0 asks none. A program with span groups of its own can have
// a flag for it; nemo-lens check is the one for programs without.
//
// A file that does not exist yet is opened and taken away again.
func Check(ctx context.Context, cfg Config, timeout time.Duration, opts ...Option) CheckReport {
	o := options{worldSize: 1}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	setupMu.Lock()
	defer setupMu.Unlock()
	var heard collected
	defer logs.Store(logs.Swap(report.New(slog.New(&heard))))

	r := CheckReport{Config: cfg}
	problem := func(err error) {
		if err != nil {
			r.Problems = append(r.Problems, err)
		}
	}
	r.RunID, _ = identity.RunID(cfg.RunID, os.LookupEnv)
	disabled, warnings := settings.SDKDisabled(os.LookupEnv)
	warn(warnings)
	switch {
	case disabled:
		r.Off = "OTEL_SDK_DISABLED is true: take it away"
	case !cfg.Enabled:
		r.Off = "telemetry is off: set " + cfg.variable("ENABLED", "Enabled", false) + " to true"
	}
	for _, w := range cfg.warnings {
		log().Warn(w, w)
	}
	invalid := cfg.Validate()
	problem(invalid)
	problem(o.resolveRank())
	r.Rank, r.WorldSize = o.rank, o.worldSize
	if invalid == nil {
		problem(r.askStrategy(o))
	}
	groups, err := cfg.ResolvedSpanGroups()
	r.Groups = groups
	if err != nil && lenient(cfg.resolver(), err) {
		log().Warn("span groups", err.Error())
	}
	if invalid == nil {
		r.signals(ctx, &o, timeout)
	}
	r.Warnings = heard.texts()
	return r
}

// askStrategy finds the ranks that would export.
func (r *CheckReport) askStrategy(o options) error {
	for rank := range min(r.WorldSize, mostRanks) {
		at := o
		at.rank = rank
		ok, err := at.exports(r.Config)
		if err != nil {
			return err
		}
		if ok {
			r.ExportingRanks = append(r.ExportingRanks, rank)
		}
	}
	return nil
}

func (r *CheckReport) signals(ctx context.Context, o *options, timeout time.Duration) {
	for _, s := range plan.Check(ctx, o.planSettings(r.Config, r.RunID, r.Config.RunID), timeout) {
		r.Signals = append(r.Signals, SignalCheck(s))
	}
}

// collected is a slog.Handler that keeps the messages of warnings.
type collected struct {
	mu   sync.Mutex
	list []string
}

func (c *collected) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (c *collected) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.list, text) {
		c.list = append(c.list, text)
	}
	return nil
}

func (c *collected) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c *collected) WithGroup(string) slog.Handler      { return c }

func (c *collected) texts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}
