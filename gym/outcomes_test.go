//go:build !lens_noop

package gym

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/lenstest"
)

// Case 75, rollout outcomes.
func TestMetrics75RolloutOutcomes(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, Rollout)
	RegisterFailureKinds("sandbox_lost")
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a rollout that was given up counts
	failure := func(kind string) RolloutResult {
		return RolloutResult{Outcome: RolloutFailed, Dispatch: "swe_agent", FailureClass: "infrastructure", FailureKind: kind, FailureType: "TimeoutError"}
	}
	scored := failure("sandbox_lost")
	scored.Outcome = RolloutScored
	for _, r := range []RolloutResult{
		scored, failure("sandbox_lost"), failure("judge:refused"), failure("never heard of"), failure("made_up"), failure("a: b"), failure(":x"), failure("x:"),
		{Outcome: RolloutOmitted}, {Outcome: "no such"},
		{Outcome: RolloutFailed, Dispatch: "a name with blanks", FailureType: "could not open /home/me: secret"},
	} {
		RecordRolloutOutcome(ctx, r)
	}
	const rest = ",nemo.gym.rollout.failure.type=TimeoutError,nemo.gym.rollout.outcome=failed"
	const start = "nemo.gym.rollout.dispatch.name=swe_agent,nemo.gym.rollout.failure.class=infrastructure,nemo.gym.rollout.failure.kind="
	assert.Equal(t, map[string]float64{
		"nemo.gym.rollout.dispatch.name=swe_agent,nemo.gym.rollout.outcome=scored": 1,
		start + "sandbox_lost" + rest:      1,
		start + "judge:refused" + rest:     1,
		start + "unregistered" + rest:      5,
		"nemo.gym.rollout.outcome=omitted": 1,
		"nemo.gym.rollout.outcome=other":   1,
		"nemo.gym.rollout.dispatch.name=other,nemo.gym.rollout.failure.type=other,nemo.gym.rollout.outcome=failed": 1,
	}, m.values("gym.rollout.completed_total"))
	assert.Equal(t, "1", m.all()["gym.rollout.completed_total"].Unit)
}

func TestRolloutOutcomesNeedTheGroup(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, Verify)
	RecordRolloutOutcome(context.Background(), RolloutResult{Outcome: RolloutScored})
	assert.Empty(t, m.all())
}

func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	var l labels
	for i := range maxLabels {
		require.Equal(t, fmt.Sprint(i), l.of(fmt.Sprint(i)))
	}
	assert.Equal(t, "other", l.of("one_more"))
	assert.Equal(t, "7", l.of("7"), "those before stay")
	for _, s := range []string{"", "a b", "a\n", "ü", "a=b", strings.Repeat("a", maxLabelBytes+1)} {
		assert.Equal(t, "other", new(labels).of(s), "%q", s)
	}
	assert.Equal(t, "net/http.Error", new(labels).of("net/http.Error"))
}
