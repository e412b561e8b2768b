//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/identity"
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
	p := newPlan(o, r.Config, r.RunID)
	enabled := []bool{r.Config.TracesEnabled, r.Config.MetricsEnabled, r.Config.LogsEnabled}
	var asking sync.WaitGroup
	r.Signals = make([]SignalCheck, len(enabled))
	for i, signal := range []settings.Signal{settings.Traces, settings.Metrics, settings.Logs} {
		s := &r.Signals[i]
		s.Signal, s.Enabled = string(signal), enabled[i]
		s.Exporter = p.exporter(signal)
		if !s.Enabled || p.hasNoDestination(signal, s.Exporter) {
			s.Enabled, s.Off = false, p.off[signal]
			continue
		}
		switch s.Exporter {
		case exporterOTLP:
			resolved, err := p.otlp(signal)
			if err != nil {
				s.Err = err
				continue
			}
			s.Where, s.Protocol = otlp.Describe(resolved), string(resolved.Protocol)
			for _, h := range resolved.Headers {
				s.Headers = append(s.Headers, h.Key)
			}
			slices.Sort(s.Headers)
			if s.Asked = timeout > 0; s.Asked {
				asking.Go(func() {
					began := time.Now()
					s.Err = otlp.Probe(ctx, resolved, timeout)
					s.Took = time.Since(began)
				})
			}
		case exporterConsole, exporterFile:
			s.Where, s.Err = p.tryFile(s.Exporter)
		}
	}
	asking.Wait()
}

// tryFile opens what the exporter would write to, and leaves no new file behind.
func (p *plan) tryFile(exporter string) (where string, err error) {
	if exporter == exporterConsole && (p.o.consoleWriter != nil || p.cfg.ExporterFile == "") {
		_, where, err := p.console()
		return where, err
	}
	name := p.fileName()
	_, before := os.Stat(name)
	if exporter == exporterFile {
		_, where, err = p.file()
	} else {
		_, where, err = p.console()
	}
	err = errors.Join(err, p.close())
	p.lines, p.output = nil, nil
	if info, statErr := os.Stat(name); errors.Is(before, os.ErrNotExist) && statErr == nil && info.Size() == 0 {
		_ = os.Remove(name)
	}
	return where, err
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
