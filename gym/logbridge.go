//go:build !lens_noop

package gym

import (
	"errors"
	"log"
	"log/slog"

	"go.opentelemetry.io/otel/log/noop"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenslog"
)

// installLogBridge lets the records of the default logger be exported, beside
// where they go already. It is a variable for the tests.
var installLogBridge = func(h *lens.TelemetryHandle) (remove func(), err error) {
	provider := h.LoggerProvider()
	if _, nothing := provider.(noop.LoggerProvider); nothing {
		return nil, errors.New("there is no exporter for them")
	}
	before, out, flags := slog.Default(), log.Writer(), log.Flags()
	bridge := slog.New(lenslog.Tee(nil, provider))
	slog.SetDefault(bridge) // which takes package log along
	return func() {
		if slog.Default() == bridge {
			slog.SetDefault(before)
			log.SetOutput(out)
			log.SetFlags(flags)
		}
	}, nil
}
