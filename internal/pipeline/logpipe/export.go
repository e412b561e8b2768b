package logpipe

import (
	"context"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/pipeline/logpipe/reentry"
	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// export sends a batch of the queue's own copies, in parts when it is too large.
func (p *Pipeline) export(ctx context.Context, records []sdklog.Record) (err error) {
	reentry.Do(func() {
		ctx := reentry.Mark(ctx)
		err = guard.Split(ctx, what, len(records), func(from, to int) error { return p.call(ctx, records[from:to:to]) })
	})
	lost := outcome.Lost(err, len(records))
	// The application's own logger may export through this very queue.
	reentry.Do(func() {
		switch {
		case lost > 0: // the queue says it
		case err != nil:
			p.log.Warn("log export warning", "lens: log records were exported, with a warning", "error", outcome.Text(err))
		default:
			outcome.Recovered(p.log, what, p.endpoint)
		}
	})
	if err == nil {
		return nil
	}
	return &outcome.LossError{What: what, Endpoint: p.endpoint, Failed: uint64(lost), Of: uint64(len(records)), Cause: err}
}

// call is one request.
func (p *Pipeline) call(ctx context.Context, records []sdklog.Record) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = outcome.Escaped("Export of "+p.exporterName(), r)
		}
	}()
	return p.exporter.Export(ctx, records)
}
