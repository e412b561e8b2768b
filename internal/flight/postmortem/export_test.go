//go:build unix && !aix && !solaris && !illumos

package postmortem

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/flight"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// What a dead process left open arrives with the ids it had, once.
func TestOpenSpansAreExportedOnce(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		newRank(t, dir, i, 4).train(2, "train.allreduce")
	}
	closed := newRank(t, dir, 3, 4)
	closed.begin("train.job", spanOf{}, 0)
	closed.rec.Close()

	srv := otlptest.Start(t)
	exporter, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithEndpointURL(srv.GRPCURL()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = exporter.Shutdown(t.Context()) })

	// While they live, nothing is sent.
	alive, err := Load(t.Context(), dir, Options{})
	require.NoError(t, err)
	done, err := alive.Export(t.Context(), exporter)
	require.NoError(t, err)
	assert.Equal(t, Exported{Alive: 3}, done)
	assert.Empty(t, srv.Spans())

	report := dead(t, dir, Options{})
	done, err = report.Export(t.Context(), exporter)
	require.NoError(t, err)
	assert.Equal(t, Exported{Spans: 9, Processes: 3}, done)
	spans := srv.Spans()
	require.Len(t, spans, 9)
	wanted := map[trace.SpanID]flight.Span{}
	for _, p := range report.Processes {
		f, err := flight.Read(p.Path)
		require.NoError(t, err)
		for _, s := range f.Open {
			wanted[s.SpanID] = s
		}
	}
	for _, s := range spans {
		want, ok := wanted[s.SpanID]
		require.True(t, ok)
		assert.Equal(t, want.TraceID, s.TraceID)
		assert.Equal(t, want.ParentID, s.ParentSpanID)
		assert.Equal(t, want.Name, s.Name)
		assert.True(t, want.Start.Equal(s.Start))
		assert.Greater(t, s.End.Sub(s.Start), 9*time.Minute)
		assert.Equal(t, true, s.Attributes["nemo.span.truncated"])
		assert.Equal(t, "run-1", s.Resource["nemo.run.id"])
		assert.EqualValues(t, 4, s.Resource["dl.world_size"])
		assert.Equal(t, "trainer", s.Resource["service.name"])
	}

	// A second call adds nothing.
	done, err = dead(t, dir, Options{}).Export(t.Context(), exporter)
	require.NoError(t, err)
	assert.Equal(t, Exported{Before: 3}, done)
	assert.Len(t, srv.Spans(), 9)
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// What has not arrived is sent again by the next call.
func TestAFailedExportIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	newRank(t, dir, 0, 1).train(2, "train.allreduce")
	addr := otlptest.ClosedAddr(t)
	refused, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithEndpoint(addr), otlptracegrpc.WithInsecure(),
		otlptracegrpc.WithTimeout(200*time.Millisecond), otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = refused.Shutdown(t.Context()) })
	done, err := dead(t, dir, Options{}).Export(t.Context(), refused)
	assert.ErrorContains(t, err, "the open spans of "+dir)
	assert.Zero(t, done)

	srv := otlptest.Start(t)
	exporter, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithEndpointURL(srv.GRPCURL()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = exporter.Shutdown(t.Context()) })
	done, err = dead(t, dir, Options{}).Export(t.Context(), exporter)
	require.NoError(t, err)
	assert.Equal(t, Exported{Spans: 3, Processes: 1}, done)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2)
}

// Two readings give spans that are equal in every bit.
func TestAnExportCanBeRepeated(t *testing.T) {
	dir := t.TempDir()
	r := newRank(t, dir, 0, 1)
	r.begin("train.job", spanOf{}, time.Minute, attribute.String("phase", "warm-up"))
	data, err := os.ReadFile(r.rec.Path())
	require.NoError(t, err)
	first, err := flight.Parse(data)
	require.NoError(t, err)
	second, err := flight.Parse(data)
	require.NoError(t, err)
	assert.Equal(t, truncated(first), truncated(second))
}
