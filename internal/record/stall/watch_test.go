package stall

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/record"
)

// heard is what a watch has told.
type heard struct {
	mu     sync.Mutex
	stalls []Report
	beaten []string
}

func (h *heard) reports() []Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.stalls)
}

func (h *heard) beats() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.beaten)
}

func watched(t *testing.T, s Settings) (*record.Provider, *heard) {
	t.Helper()
	p := record.New(record.Settings{Limits: sdktrace.NewSpanLimits()})
	h := &heard{}
	s.Open = func() (open []Span) {
		for _, span := range p.OpenNow() {
			open = append(open, span)
		}
		return open
	}
	s.Report = func(r Report) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.stalls = append(h.stalls, r)
	}
	s.Beat = func(s Span, from, to time.Time) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.beaten = append(h.beaten, fmt.Sprintf("%s %s to %s", s.Name(), from.Sub(s.StartTime()), to.Sub(s.StartTime())))
	}
	w := Start(s)
	t.Cleanup(func() { w.Stop(context.Background()) })
	return p, h
}

func events(s trace.Span) (names []string) {
	for _, e := range s.(*record.Span).Events() {
		names = append(names, e.Name)
	}
	return names
}

func TestASpanIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, h := watched(t, Settings{After: time.Minute})
		tracer := p.Tracer("test")
		ctx, job := tracer.Start(t.Context(), "train.job")
		time.Sleep(30 * time.Second)
		ctx, step := tracer.Start(ctx, "train.step", trace.WithAttributes(attribute.Int("dl.iteration", 20)))
		_, quick := tracer.Start(ctx, "quick")
		time.Sleep(10 * time.Second)
		quick.End()
		time.Sleep(26 * time.Second)
		synctest.Wait()
		require.Len(t, h.reports(), 1)
		assert.Equal(t, []string{"train.job"}, h.reports()[0].Ancestry)
		assert.GreaterOrEqual(t, h.reports()[0].Age, time.Minute)
		assert.Empty(t, h.reports()[0].Stacks)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, h.reports(), 2)
		assert.Equal(t, []string{"train.job", "train.step"}, h.reports()[1].Ancestry)
		assert.Equal(t, []attribute.KeyValue{attribute.Int("dl.iteration", 20)}, h.reports()[1].Span.Attributes())
		assert.Less(t, h.reports()[1].Age, time.Minute+2*longestLook)
		assert.Equal(t, []string{EventName}, events(step))
		assert.Equal(t, []string{EventName}, events(job))
		assert.Empty(t, events(quick))
		assert.Empty(t, h.beats())
	})
}

func TestTimesOfGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, h := watched(t, Settings{Groups: map[string]time.Duration{"step": time.Second, "job": 0}, After: time.Minute})
		for _, group := range []string{"job", "step", "other"} {
			p.Scope("test").StartGroup(t.Context(), group, group)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, h.reports(), 1)
		assert.Equal(t, "step", h.reports()[0].Span.Name())
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, h.reports(), 2)
		assert.Equal(t, "other", h.reports()[1].Span.Name())
	})
}

func TestAFloodOfStalledSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, h := watched(t, Settings{After: time.Second, Stacks: true})
		ctx, _ := p.Tracer("test").Start(t.Context(), "outer")
		for range 100 {
			p.Tracer("test").Start(ctx, "inner")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, h.reports(), maxReports)
		assert.Equal(t, "inner", h.reports()[0].Span.Name(), "the innermost first")
		assert.Contains(t, h.reports()[0].Stacks, "goroutine ")
		assert.LessOrEqual(t, len(h.reports()[0].Stacks), maxStacks+10)
		assert.Equal(t, 101-maxReports, h.reports()[maxReports-1].More)
		for _, r := range h.reports()[1:] {
			assert.Empty(t, r.Stacks)
		}
	})
}

func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, h := watched(t, Settings{Heartbeat: 4 * time.Second})
		_, s := p.Tracer("test").Start(t.Context(), "train.job")
		_, quick := p.Tracer("test").Start(t.Context(), "quick")
		time.Sleep(3 * time.Second)
		quick.End()
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		assert.Equal(t, []string{"train.job 0s to 4s", "train.job 4s to 8s", "train.job 8s to 12s"}, h.beats())
		s.End()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, h.beats(), 3)
		assert.Empty(t, h.reports())
	})
}

func TestNothingToLookFor(t *testing.T) {
	assert.Nil(t, Start(Settings{}))
	assert.Nil(t, Start(Settings{Groups: map[string]time.Duration{"step": 0}, Stacks: true}))
	var w *Watch
	w.Stop(t.Context())
}
