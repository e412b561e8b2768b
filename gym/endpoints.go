package gym

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/web/served"
	"github.com/nemo-lens/lens/semconv"
)

// The names of the spans around endpoints and the run.
const (
	SpanJob                  = "gym.job"
	SpanRollout              = "gym.rollout"
	SpanVerify               = "gym.verify"
	SpanAgentResponses       = "gym.agent.responses"
	SpanModelChatCompletions = "gym.model.chat_completions"
	SpanModelResponses       = "gym.model.responses"
	SpanModelMessages        = "gym.model.messages"
)

// JobSpan starts the span around a whole run of rollouts, in the driver, while
// the group [Job] is on. End it with [lens.End].
func JobSpan(ctx context.Context) (context.Context, trace.Span) {
	ctx, span := lens.ManagedSpan(ctx, Job, SpanJob)
	if span.IsRecording() {
		annotate(ctx)
	}
	return ctx, span
}

// TracedEndpoint makes a span of every request to h while the group is on;
// while it is off, h runs as if it were not wrapped. The span has attrs, the
// name of the server that [InitTelemetry] was given, and the id of the rollout
// that the request's context works for. It ends when h returns, whatever is
// still streamed.
//
// A handler raises nothing, so a panic, which goes on, and a status from 500
// are what makes the span an error.
func TracedEndpoint(group lens.SpanGroup, spanName string, h http.Handler, attrs ...attribute.KeyValue) http.Handler {
	return &endpoint{site: newSite(group, spanName, nil, attrs), next: h}
}

// TracedRollout is [TracedEndpoint] for an agent's /run: span gym.rollout,
// group [Rollout]. When the context works for no rollout yet, the id is taken
// from the body as by [RolloutBody]; the span has it, and so has the context of
// h. Every request, failed or not, is in gym.rollout.duration_ms.
func TracedRollout(h http.Handler) http.Handler {
	return &endpoint{site: newSite(Rollout, SpanRollout, recordRollout, nil), next: h, idFromBody: true}
}

// TracedVerify is [TracedEndpoint] for a resources server's /verify: span
// gym.verify, group [Verify]. Every request is in gym.verify.duration_ms and
// gym.verify.success_rate: it succeeded when h neither panicked nor answered
// with 500 or above, whatever the reward.
func TracedVerify(h http.Handler) http.Handler {
	return &endpoint{site: newSite(Verify, SpanVerify, recordVerify, nil), next: h}
}

// TracedAgent is [TracedEndpoint] for an agent's /v1/responses: span
// gym.agent.responses, group [Agent].
func TracedAgent(h http.Handler) http.Handler { return TracedEndpoint(Agent, SpanAgentResponses, h) }

// site is what endpoints and functions have in common.
type site struct {
	group lens.SpanGroup
	name  string
	attrs []attribute.KeyValue
	done  func(ctx context.Context, d time.Duration, ok bool)
}

func newSite(group lens.SpanGroup, name string, done func(context.Context, time.Duration, bool), attrs []attribute.KeyValue) site {
	return site{group: group, name: name, done: done, attrs: slices.Clone(attrs)}
}

// start starts the span; the attributes are set before the work begins.
func (s *site) start(ctx context.Context) (context.Context, trace.Span) {
	ctx, span := lens.ManagedSpan(ctx, s.group, s.name, s.attrs...)
	if span.IsRecording() {
		if t := telemetryState.current.Load(); t != nil && t.serverName != "" {
			span.SetAttributes(semconv.NeMoGymServerNameKey.String(t.serverName))
		}
		if id := RolloutID(ctx); id != "" {
			span.SetAttributes(semconv.NeMoGymRolloutIDKey.String(id))
		}
	}
	return ctx, span
}

func (s *site) finish(ctx context.Context, began time.Time, ok bool) {
	annotate(ctx)
	if s.done != nil {
		s.done(ctx, time.Since(began), ok)
	}
}

type endpoint struct {
	site
	next       http.Handler
	idFromBody bool
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !lens.IsSpanGroupEnabled(e.group) {
		e.next.ServeHTTP(w, r)
		return
	}
	e.trace(w, r)
}

func (e *endpoint) trace(w http.ResponseWriter, r *http.Request) {
	inner := r
	if e.idFromBody {
		inner = withRolloutFromBody(r)
	}
	began := time.Now()
	ctx, span := e.start(inner.Context())
	defer lens.End(span, nil)
	answer, returned := served.NewAnswer(r.Context()), false
	defer func() {
		if returned {
			answer.Settle(w)
		}
		status := answer.Status()
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, fmt.Sprintf("the handler answered %d", status))
		}
		e.finish(ctx, began, returned && status < http.StatusInternalServerError)
	}()
	serveInner(e.next, answer.Track(w, w), r, inner.WithContext(ctx))
	returned = true
}

// TracedEndpointFunc is [TracedEndpoint] for a function, whose error, returned
// as it is, makes the span an error; one of a cancelled context does not.
func TracedEndpointFunc[In, Out any](group lens.SpanGroup, spanName string, fn func(context.Context, In) (Out, error), attrs ...attribute.KeyValue) func(context.Context, In) (Out, error) {
	return tracedFunc(newSite(group, spanName, nil, attrs), fn)
}

// TracedRolloutFunc is [TracedRollout] for a function. The id is that of its
// context, see [WithRolloutID].
func TracedRolloutFunc[In, Out any](fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return tracedFunc(newSite(Rollout, SpanRollout, recordRollout, nil), fn)
}

// TracedVerifyFunc is [TracedVerify] for a function: it succeeded when it
// returned no error.
func TracedVerifyFunc[In, Out any](fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return tracedFunc(newSite(Verify, SpanVerify, recordVerify, nil), fn)
}

func tracedFunc[In, Out any](s site, fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		if !lens.IsSpanGroupEnabled(s.group) {
			return fn(ctx, in)
		}
		began := time.Now()
		ctx, span := s.start(ctx)
		defer lens.End(span, &err)
		returned := false
		defer func() { s.finish(ctx, began, returned && err == nil) }()
		out, err = fn(ctx, in)
		returned = true
		return out, err
	}
}
