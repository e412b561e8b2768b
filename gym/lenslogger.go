package gym

import (
	"context"
	"log/slog"
	"os"
	"strings"
)

// lensLogger writes the messages of lens where it writes them by itself, to
// standard error, without the warnings about variables under Gym's prefix that
// lens does not read and this package does.
func lensLogger() *slog.Logger { return slog.New(ownVariables{slog.NewTextHandler(os.Stderr, nil)}) }

type ownVariables struct{ slog.Handler }

func (h ownVariables) Handle(ctx context.Context, r slog.Record) error {
	if text, ok := strings.CutPrefix(r.Message, "variable "); ok {
		if name, _, _ := strings.Cut(text, " "); readHere(name) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h ownVariables) WithAttrs(attrs []slog.Attr) slog.Handler {
	return ownVariables{h.Handler.WithAttrs(attrs)}
}

func (h ownVariables) WithGroup(name string) slog.Handler {
	return ownVariables{h.Handler.WithGroup(name)}
}

// readHere reports whether a variable is one of this package's own.
func readHere(name string) bool {
	key, ok := strings.CutPrefix(name, envGym)
	if !ok {
		return false
	}
	if key == "INSTRUMENT_AIOHTTP" { // accepted, without effect
		return true
	}
	for _, f := range configFields(new(TelemetryConfig)) {
		if f.env == key && key != "" {
			return true
		}
	}
	return false
}
