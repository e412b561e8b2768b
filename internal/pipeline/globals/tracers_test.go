package globals

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

func TestAHintWhenNobodyHasSetUp(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var text bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})))
	hinted.Store(false)
	for range 3 {
		_, span := Ambient("x").Start(context.Background(), "x")
		if span.IsRecording() {
			t.Error("it records")
		}
		span.End()
	}
	if strings.Count(text.String(), "telemetry is not set up") != 1 {
		t.Error(text.String())
	}
}
