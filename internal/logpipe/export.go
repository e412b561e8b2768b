package logpipe

import (
	"context"
	"errors"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/logpipe/reentry"
	"github.com/nemo-lens/lens/internal/outcome"
)

// export sends a batch of the queue's own copies.
func (p *Pipeline) export(ctx context.Context, records []sdklog.Record) error {
	p.repair(records)
	s := sending{Pipeline: p, ctx: reentry.Mark(ctx)}
	reentry.Do(func() { s.send(records) })
	err := s.why.Err()
	// The program's own logger may export through this very queue.
	reentry.Do(func() {
		switch {
		case s.lost > 0: // the queue says it
		case err != nil:
			p.log.Warn("log export warning", "lens: log records were exported, with a warning", "error", outcome.Text(err))
		default:
			outcome.Recovered(p.log, what, p.endpoint)
		}
	})
	if err == nil {
		return nil
	}
	return &outcome.LossError{What: what, Endpoint: p.endpoint, Failed: uint64(s.lost), Of: uint64(len(records)), Cause: err}
}

// sending is the state of one batch on its way.
type sending struct {
	*Pipeline
	ctx  context.Context
	lost int
	why  outcome.Reasons
}

// send makes a request of records, and two of the halves when the receiver finds it
// too large.
func (s *sending) send(records []sdklog.Record) {
	if err := s.ctx.Err(); err != nil && s.lost > 0 {
		s.lost += len(records)
		return
	}
	err := s.call(records)
	if len(records) > 1 && tooLarge(err) {
		half := len(records) / 2
		s.send(records[:half:half])
		s.send(records[half:])
		return
	}
	s.lost += outcome.Lost(err, len(records))
	s.why.Add(err)
}

// call is one request.
func (s *sending) call(records []sdklog.Record) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = outcome.Escaped("Export of "+s.exporterName(), r)
		}
	}()
	return s.exporter.Export(s.ctx, records)
}

// tooLarge reports whether err says that a smaller request may succeed. The
// library's own exporters know.
func tooLarge(err error) bool {
	var e interface{ TooLarge() bool }
	return errors.As(err, &e) && e.TooLarge()
}
