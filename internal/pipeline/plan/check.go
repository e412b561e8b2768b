package plan

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/settings"
)

// SignalCheck is where one signal would go; see the type of this name in the root
// package.
type SignalCheck struct {
	Signal   string
	Enabled  bool
	Off      string
	Exporter string
	Where    string
	Protocol string
	Headers  []string
	Asked    bool
	Took     time.Duration
	Err      error
}

// Check finds where each signal would go, and asks each receiver with an empty request
// whether it would take it, for at most timeout; 0 asks none. It sets nothing up. A file
// that does not exist yet is opened and taken away again.
func Check(ctx context.Context, s Settings, timeout time.Duration) []SignalCheck {
	p := newPlan(s)
	enabled := []bool{s.Traces, s.Metrics, s.Logs}
	checks := make([]SignalCheck, len(enabled))
	var asking sync.WaitGroup
	for i, signal := range []settings.Signal{settings.Traces, settings.Metrics, settings.Logs} {
		c := &checks[i]
		c.Signal, c.Enabled = string(signal), enabled[i]
		c.Exporter = p.exporter(signal)
		if !c.Enabled || p.hasNoDestination(signal, c.Exporter) {
			c.Enabled, c.Off = false, p.off[signal]
			continue
		}
		switch c.Exporter {
		case exporterOTLP:
			p.checkOTLP(ctx, signal, c, timeout, &asking)
		case exporterConsole, exporterFile:
			c.Where, c.Err = p.tryFile(c.Exporter)
		}
	}
	asking.Wait()
	return checks
}

func (p *Plan) checkOTLP(ctx context.Context, signal settings.Signal, c *SignalCheck, timeout time.Duration, asking *sync.WaitGroup) {
	resolved, err := p.otlp(signal)
	if err != nil {
		c.Err = err
		return
	}
	c.Where, c.Protocol = otlp.Describe(resolved), string(resolved.Protocol)
	for _, h := range resolved.Headers {
		c.Headers = append(c.Headers, h.Key)
	}
	slices.Sort(c.Headers)
	if c.Asked = timeout > 0; c.Asked {
		asking.Go(func() {
			began := time.Now()
			c.Err = otlp.Probe(ctx, resolved, timeout)
			c.Took = time.Since(began)
		})
	}
}

// tryFile opens what the exporter would write to, and leaves no new file behind.
func (p *Plan) tryFile(exporter string) (where string, err error) {
	if exporter == exporterConsole && (p.ConsoleTo != nil || p.File == "") {
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
	err = errors.Join(err, p.Close())
	p.lines, p.output = nil, nil
	if info, statErr := os.Stat(name); errors.Is(before, os.ErrNotExist) && statErr == nil && info.Size() == 0 {
		_ = os.Remove(name)
	}
	return where, err
}
