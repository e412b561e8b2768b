// Package lenslog connects log/slog with traces, in two ways that are independent of
// each other.
//
// # Trace ids in the application's own log
//
// What most programs want: the log goes where it always went, and each line says
// which trace it belongs to. [NewHandler] wraps the application's handler:
//
//	slog.SetDefault(slog.New(lenslog.NewHandler(slog.NewJSONHandler(os.Stderr, nil), lenslog.WithRank(rank))))
//	…
//	slog.InfoContext(ctx, "step done", "loss", loss)   // the Context variants know the span
//
// Nothing has to be exported for that, and lens need not be set up: any span in the
// context will do.
//
// # Log records to a collector
//
// [NewExportHandler] is OpenTelemetry's slog bridge for a logger provider, with a level, a
// choice of packages, and a guard against exporters that log. To have both, join them:
//
//	user := lenslog.NewHandler(slog.NewJSONHandler(os.Stderr, nil))
//	slog.SetDefault(slog.New(lenslog.Tee(user, provider)))
//
// Exported records carry the ids in fields of their own, so that it is the user's
// handler that is wrapped, and not the tee.
//
// # Cost
//
// Without a span in the context [NewHandler] adds no allocation and some 30 ns. With one
// it makes the two texts and room for them in the record.
//
// Every handler here is safe for concurrent use as far as the handlers in it are.
package lenslog
