package gym

import (
	"context"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/semconv"
)

// RolloutOutcome is what became of a rollout. Anything but the constants counts
// as "other".
type RolloutOutcome string

// The outcomes of rollouts.
const (
	RolloutScored  RolloutOutcome = "scored"  // it has a reward, whichever
	RolloutFailed  RolloutOutcome = "failed"  // it ended without one
	RolloutOmitted RolloutOutcome = "omitted" // it was left out on purpose
)

// The attributes of gym.rollout.completed_total beside nemo.gym.rollout.outcome.
const (
	RolloutDispatchKey     = attribute.Key("nemo.gym.rollout.dispatch.name")
	RolloutFailureClassKey = attribute.Key("nemo.gym.rollout.failure.class")
	RolloutFailureKindKey  = attribute.Key("nemo.gym.rollout.failure.kind")
	RolloutFailureTypeKey  = attribute.Key("nemo.gym.rollout.failure.type")
)

// FailureKindUnregistered is the kind of a failure whose own is neither
// registered nor of the form "prefix:name".
const FailureKindUnregistered = "unregistered"

// RolloutResult is the end of one rollout. An empty field is no attribute. Names
// are labels: one word of at most 64 letters, digits and "_-.:/". Anything else,
// such as the text of an error, counts as "other", and so does what comes after
// the first 128 different values of a field.
type RolloutResult struct {
	Outcome  RolloutOutcome
	Dispatch string // the name under which the rollout was handed out, such as that of its agent

	// Why it is not scored. For one that is scored these are ignored.
	FailureClass string
	FailureKind  string // see [RegisterFailureKinds]
	FailureType  string // such as that of an error
}

var (
	failureKinds   sync.Map // of string to true
	dispatchLabels labels
	classLabels    labels
	kindLabels     labels
	typeLabels     labels
)

// RegisterFailureKinds makes the kinds values of their own in
// gym.rollout.completed_total. Call it when the application starts.
func RegisterFailureKinds(kinds ...string) {
	for _, k := range kinds {
		failureKinds.Store(k, true)
	}
}

// RecordRolloutOutcome counts a rollout that came to an end in
// gym.rollout.completed_total. It does nothing while metrics are not exported or
// the group [Rollout] is off. The driver calls it, once a rollout: an attempt
// that is made again is no end.
//
// Of the three designs that the reference had this follows the newest. Of its
// keys only nemo.gym.rollout.outcome is documented; the others are this
// package's own, as are the limits on values. Rewards are never recorded.
func RecordRolloutOutcome(ctx context.Context, result RolloutResult) {
	if !lens.IsSpanGroupEnabled(Rollout) {
		return
	}
	if t, err := active(); err == nil {
		t.countRollout(ctx, result)
	}
}

func (t *telemetry) countRollout(ctx context.Context, result RolloutResult) {
	t.count(func(c *counters) {
		c.rollouts.Add(noCancel(ctx), 1, metric.WithAttributeSet(attribute.NewSet(result.attributes()...)))
	})
}

func (r RolloutResult) attributes() []attribute.KeyValue {
	outcome := r.Outcome
	switch outcome {
	case RolloutScored, RolloutFailed, RolloutOmitted:
	default:
		outcome = labelOther
	}
	attrs := append(make([]attribute.KeyValue, 0, 5), semconv.NeMoGymRolloutOutcomeKey.String(string(outcome)))
	add := func(key attribute.Key, value string, known *labels) {
		if value != "" {
			attrs = append(attrs, key.String(known.of(value)))
		}
	}
	add(RolloutDispatchKey, r.Dispatch, &dispatchLabels)
	if outcome == RolloutScored {
		return attrs
	}
	add(RolloutFailureClassKey, r.FailureClass, &classLabels)
	add(RolloutFailureKindKey, failureKind(r.FailureKind), &kindLabels)
	add(RolloutFailureTypeKey, r.FailureType, &typeLabels)
	return attrs
}

func failureKind(kind string) string {
	if kind == "" {
		return ""
	}
	if _, ok := failureKinds.Load(kind); ok {
		return kind
	}
	if prefix, name, ok := strings.Cut(kind, ":"); ok && prefix != "" && name != "" && isLabel(kind) {
		return kind
	}
	return FailureKindUnregistered
}
