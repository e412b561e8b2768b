//go:build !lens_noop

package gym

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

func createAs(id string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return id, nil }
}

func releaseWith(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func TestSandbox55Spans(t *testing.T) {
	reset(t)
	rec := lenstest.Start(t, Sandbox)
	ctx := context.Background()
	s := NewSandboxTracker("docker")
	require.NoError(t, s.Start(ctx, createAs("box-1")))
	assert.Equal(t, map[string]any{"nemo.gym.sandbox.provider": "docker", "nemo.gym.sandbox.id": "box-1"}, attributesOf(rec.One("gym.sandbox.start")))

	res, err := s.Exec(ctx, func(ctx context.Context) (SandboxResult, error) {
		err := exec.CommandContext(ctx, "sh", "-c", "exit 3 # hunter2").Run()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		return SandboxResult{ReturnCode: exit.ExitCode()}, nil
	})
	require.NoError(t, err)
	assert.Equal(t, 3, res.ReturnCode)
	assert.Equal(t, map[string]any{"nemo.gym.sandbox.provider": "docker", "nemo.gym.sandbox.id": "box-1", "nemo.gym.sandbox.return_code": int64(3)},
		attributesOf(rec.One("gym.sandbox.exec")))
	assert.Equal(t, codes.Unset, rec.One("gym.sandbox.exec").Status().Code)

	require.NoError(t, s.Stop(ctx, releaseWith(nil)))
	assert.Equal(t, map[string]any{"nemo.gym.sandbox.provider": "docker", "nemo.gym.sandbox.id": "box-1"}, attributesOf(rec.One("gym.sandbox.stop")))
}

func TestSandbox55CommandIsNeverRecorded(t *testing.T) {
	reset(t)
	rec := lenstest.Start(t, Sandbox)
	s := NewSandboxTracker("docker")
	_, err := s.Exec(context.Background(), func(ctx context.Context) (SandboxResult, error) {
		return SandboxResult{ErrorType: "timeout"}, exec.CommandContext(ctx, "no-such-command-hunter2").Run()
	})
	require.ErrorContains(t, err, "hunter2", "the error comes back as it is")
	assert.PanicsWithValue(t, "hunter2", func() {
		_, _ = s.Exec(context.Background(), func(context.Context) (SandboxResult, error) { panic("hunter2") })
	})
	_, err = s.Exec(context.Background(), func(context.Context) (SandboxResult, error) { return SandboxResult{}, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
	spans := rec.Named("gym.sandbox.exec")
	require.Len(t, spans, 3)
	for i, span := range spans {
		for _, kv := range span.Attributes() {
			assert.NotContains(t, kv.Value.String(), "hunter2")
		}
		for _, e := range span.Events() {
			for _, kv := range e.Attributes {
				assert.NotContains(t, kv.Value.String(), "hunter2")
			}
		}
		assert.NotContains(t, span.Status().Description, "hunter2")
		assert.Equal(t, i < 2, span.Status().Code == codes.Error)
	}
	assert.Equal(t, "timeout", attributesOf(spans[0])["nemo.gym.sandbox.error_type"])
}

func TestSandbox55GroupOff(t *testing.T) {
	m := withMetrics(t, "")
	rec := lenstest.Start(t)
	ctx := context.Background()
	s := NewSandboxTracker("docker")
	require.NoError(t, s.Start(ctx, createAs("box-1")))
	assert.Equal(t, "box-1", s.ID())
	res, err := s.Exec(ctx, func(context.Context) (SandboxResult, error) { return SandboxResult{ReturnCode: 3}, nil })
	require.NoError(t, err)
	assert.Equal(t, 3, res.ReturnCode)
	s.CreateRetried(ctx)
	require.NoError(t, s.Stop(ctx, releaseWith(nil)))
	assert.Empty(t, rec.Ended())
	assert.Empty(t, m.all())
}

func TestSandbox67Active(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, Sandbox)
	ctx := context.Background()
	active := func() map[string]float64 { return m.values("gym.sandbox.active") }
	const a, b = "nemo.gym.sandbox.provider=A", "nemo.gym.sandbox.provider=B"
	start := func(provider string) *SandboxTracker {
		s := NewSandboxTracker(provider)
		require.NoError(t, s.Start(ctx, createAs(provider)))
		return s
	}
	a1, _, b1 := start("A"), start("A"), start("B")
	require.NoError(t, a1.Stop(ctx, releaseWith(nil)))
	assert.Equal(t, map[string]float64{a: 1, b: 1}, active())
	require.NoError(t, b1.Stop(ctx, releaseWith(nil)))
	assert.Equal(t, map[string]float64{a: 1, b: 0}, active())

	boom := errors.New("boom")
	failed := NewSandboxTracker("A")
	require.ErrorIs(t, failed.Start(ctx, func(context.Context) (string, error) { return "", boom }), boom)
	assert.InDelta(t, 1, active()[a], 0, "a failed create counts nothing")
	require.NoError(t, failed.Stop(ctx, releaseWith(nil)))
	assert.InDelta(t, 1, active()[a], 0)

	upload := start("B")
	assert.InDelta(t, 1, active()[b], 0)
	require.NoError(t, upload.Stop(ctx, releaseWith(nil)))
	assert.InDelta(t, 0, active()[b], 0, "a failed upload is released")

	stuck := start("B")
	require.ErrorIs(t, stuck.Stop(ctx, releaseWith(boom)), boom)
	assert.InDelta(t, 0, active()[b], 0, "a release counts though it failed")
	require.NoError(t, stuck.Stop(ctx, releaseWith(nil)))
	assert.InDelta(t, 0, active()[b], 0, "a second stop takes nothing off")

	require.NoError(t, AttachSandbox("B", "box").Stop(ctx, releaseWith(nil)))
	assert.InDelta(t, 0, active()[b], 0, "one of somebody else is not counted")

	late := start("B")
	lens.SetEnabledSpanGroups()
	require.NoError(t, late.Stop(ctx, releaseWith(nil)))
	assert.InDelta(t, 0, active()[b], 0, "what was counted is taken off when the group has gone")

	lens.SetEnabledSpanGroups()
	early := NewSandboxTracker("B")
	require.NoError(t, early.Start(ctx, createAs("B")))
	lens.SetEnabledSpanGroups(Sandbox)
	require.NoError(t, early.Stop(ctx, releaseWith(nil)))
	assert.InDelta(t, 0, active()[b], 0, "what was not counted, as the group was off, is not taken off")

	assert.Panics(t, func() { _ = NewSandboxTracker("B").Start(ctx, func(context.Context) (string, error) { panic("no") }) })
	assert.InDelta(t, 0, active()[b], 0, "a create that panics counts nothing")

	gone := start("B")
	over, cancel := context.WithCancel(ctx)
	cancel()
	assert.Panics(t, func() { _ = gone.Stop(over, func(context.Context) error { panic("no") }) })
	assert.InDelta(t, 0, active()[b], 0, "a release that panics counts, also when its request is over")

	many := start("B")
	assert.InDelta(t, 1, active()[b], 0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { _ = many.Stop(ctx, releaseWith(nil)) })
	}
	wg.Wait()
	assert.InDelta(t, 0, active()[b], 0, "of stops at once only one counts")

	require.NoError(t, many.Start(ctx, createAs("B")))
	assert.InDelta(t, 1, active()[b], 0, "it can be created anew")
	require.NoError(t, many.Start(ctx, createAs("B")))
	assert.InDelta(t, 1, active()[b], 0, "and is one sandbox")
	require.NoError(t, many.Stop(ctx, releaseWith(nil)))
	assert.InDelta(t, 0, active()[b], 0)

	assert.EqualValues(t, 2, countOf(m, "gym.sandbox.startup_duration_ms", a))
	assert.EqualValues(t, 8, countOf(m, "gym.sandbox.startup_duration_ms", b))
}

func countOf(m *readings, name, attrs string) (n uint64) {
	for _, p := range m.histogram(name) {
		if p.Attributes.Encoded(attribute.DefaultEncoder()) == attrs {
			n += p.Count
		}
	}
	return n
}

func TestSandboxRetriesAndExecAreCounted(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, Sandbox)
	s := NewSandboxTracker("A")
	s.CreateRetried(context.Background())
	s.CreateRetried(context.Background())
	assert.Equal(t, map[string]float64{"nemo.gym.sandbox.provider=A": 2}, m.values("gym.sandbox.create_retry_total"))
	_, _ = s.Exec(context.Background(), func(context.Context) (SandboxResult, error) { return SandboxResult{}, errors.New("x") })
	assert.EqualValues(t, 1, m.histogram("gym.sandbox.exec_duration_ms")[0].Count)
}

type namedProvider struct{}

func (*namedProvider) SandboxProviderName() string { return "declared" }

func TestSandboxProviderName(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "declared", SandboxProviderName(new(namedProvider)))
	assert.Equal(t, "SandboxResult", SandboxProviderName(&SandboxResult{}))
	assert.Empty(t, SandboxProviderName(nil))
}

type agentBase struct{}

func (agentBase) GymServerType() string { return ServerTypeAgent }

func TestServerType56Ancestry(t *testing.T) {
	t.Parallel()
	type simple struct{ agentBase }
	type derived struct{ *simple }
	assert.Equal(t, "responses_api_agents", ServerTypeOf(simple{}))
	assert.Equal(t, "responses_api_agents", ServerTypeOf(derived{&simple{}}))
	assert.Empty(t, ServerTypeOf(struct{}{}))
	assert.Empty(t, ServerTypeOf(nil))
}
