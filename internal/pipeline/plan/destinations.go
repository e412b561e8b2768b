package plan

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/export/otlpfile"
	"github.com/nemo-lens/lens/internal/export/wholeline"
	"github.com/nemo-lens/lens/internal/settings"
)

// exporter returns the exporter of a signal by name.
func (p *Plan) exporter(signal settings.Signal) string {
	if p.ExporterSet || p.Exporter != exporterOTLP {
		return p.Exporter
	}
	name, warnings := settings.ParseExporter(signal, p.Env)
	p.warn(warnings)
	return cmp.Or(name, p.Exporter)
}

// hasNoDestination reports whether nobody has said where the signal goes although
// somebody has for another one: a receiver of spans alone must not make a second one
// necessary at the default endpoint, nor a test that keeps its spans in memory. When
// nothing is configured, all signals go to the default endpoint.
func (p *Plan) hasNoDestination(signal settings.Signal, exporter string) bool {
	if exporter != exporterOTLP || p.Endpoint != "" {
		return false
	}
	if name, _ := settings.EndpointVariable(signal, p.Env); name != "" {
		return false
	}
	if name, _ := settings.ParseExporter(signal, p.Env); name != "" && !p.ExporterSet {
		return false
	}
	said := ""
	if p.SpanExporter != nil && !p.ExporterSet {
		said = "WithSpanExporter takes the spans only"
	}
	for _, other := range settings.Signals {
		if name, alone := settings.EndpointVariable(other, p.Env); alone {
			said = name + " is for " + string(other) + " only"
			break
		}
	}
	if said == "" {
		return false
	}
	own := "OTEL_EXPORTER_OTLP_" + strings.ToUpper(string(signal)) + "_ENDPOINT"
	p.off[signal] = "no destination, as " + said + "; " + own + " or OTEL_EXPORTER_OTLP_ENDPOINT gives one"
	return true
}

type builders[E any] struct {
	console func(io.Writer) (E, error)
	otlp    func(settings.OTLP) (E, error)
	file    func(io.Writer) E
}

// exporterFor builds the exporter of one signal; it is nil for "none".
func exporterFor[E any](p *Plan, signal settings.Signal, name string, build builders[E]) (exporter E, endpoint string, err error) {
	defer func() { p.destinations[signal] = endpoint }()
	switch name {
	case exporterConsole:
		w, where, err := p.console()
		if err != nil {
			return exporter, "", err
		}
		exporter, err = build.console(w)
		if err != nil {
			return exporter, "", fmt.Errorf("lens: console exporter of %s: %w", signal, err)
		}
		return exporter, "console (" + where + ")", nil
	case exporterFile:
		w, where, err := p.file()
		if err != nil {
			return exporter, "", err
		}
		return build.file(w), where, nil
	case exporterOTLP:
		resolved, err := p.otlp(signal)
		if err != nil {
			return exporter, "", err
		}
		exporter, err = build.otlp(resolved)
		if e, ok := any(exporter).(interface{ LastError() error }); ok && err == nil {
			p.lastErrors[signal] = e.LastError
		}
		return exporter, otlp.Describe(resolved), err
	}
	return exporter, exporterNone, nil
}

// otlp resolves where a signal goes. An endpoint of lens's own stands alone: the
// standard variables of another product have no part in the export then, and its
// keys are not sent there.
func (p *Plan) otlp(signal settings.Signal) (settings.OTLP, error) {
	resolved, warnings, err := settings.ParseOTLP(signal, p.Own(signal), p.Env)
	p.warn(warnings)
	return resolved, err
}

// console opens what the console exporters write to, one for all signals.
func (p *Plan) console() (io.Writer, string, error) {
	if p.output != nil {
		return p.output, p.where, nil
	}
	switch {
	case p.ConsoleTo != nil:
		p.output, p.where = wholeline.New(p.ConsoleTo), "the application's writer"
	case p.File == "":
		p.output, p.where = wholeline.New(os.Stdout), "standard output"
	default:
		f, err := os.OpenFile(p.fileName(), os.O_APPEND|os.O_CREATE|os.O_WRONLY|openFlags, 0o644)
		if err != nil {
			return nil, "", p.badFile(err)
		}
		p.opened = append(p.opened, f.Close)
		p.output, p.where = wholeline.New(f), p.fileName()
	}
	return p.output, p.where, nil
}

// file opens what the file exporters write to, one for all signals.
func (p *Plan) file() (io.Writer, string, error) {
	if p.lines == nil {
		f, err := otlpfile.Open(p.fileName(), p.FileSize, p.FileKeep, openFlags)
		if err != nil {
			return nil, "", p.badFile(err)
		}
		p.opened = append(p.opened, f.Close)
		p.lines = f
	}
	return p.lines, "file (" + p.fileName() + ")", nil
}

func (p *Plan) fileName() string {
	return otlpfile.Name(cmp.Or(p.File, otlpfile.DefaultName), p.RunID, p.Rank, os.Getpid())
}

func (p *Plan) badFile(err error) error {
	return fmt.Errorf("lens: exporter_file%s: %w; name a file that can be written", p.FileSource, err)
}
