package gym

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/record/errtype"
	"github.com/nemo-lens/lens/semconv"
)

// SandboxTracker makes the spans and the metrics of one sandbox while the group
// [Sandbox] is on. While it is off, the functions it is given run as they are.
// Make one with [NewSandboxTracker] or [AttachSandbox]; its methods are safe
// for concurrent use.
type SandboxTracker struct {
	provider string
	attrs    metric.MeasurementOption
	counted  atomic.Bool // it is in gym.sandbox.active

	mu sync.Mutex
	id string
}

// NewSandboxTracker tracks a sandbox that [SandboxTracker.Start] is going to
// create. See [SandboxProviderName] for the name.
func NewSandboxTracker(provider string) *SandboxTracker {
	return &SandboxTracker{provider: provider, attrs: metric.WithAttributeSet(
		attribute.NewSet(semconv.NeMoGymSandboxProviderKey.String(provider)))}
}

// AttachSandbox tracks a sandbox that exists already. The process did not count
// it, so that its Stop takes nothing off gym.sandbox.active.
func AttachSandbox(provider, id string) *SandboxTracker {
	s := NewSandboxTracker(provider)
	s.id = id
	return s
}

// SandboxProviderName returns the name that a provider has declared with a
// method SandboxProviderName, else the name of its type.
func SandboxProviderName(provider any) string {
	if p, ok := provider.(interface{ SandboxProviderName() string }); ok {
		return p.SandboxProviderName()
	}
	t := reflect.TypeOf(provider)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return ""
	}
	return t.Name()
}

// SandboxResult is what became of a command.
type SandboxResult struct {
	ReturnCode int
	ErrorType  string // for example "timeout"; empty when there is none
}

// ID returns the id of the sandbox, or "" while it is not known.
func (s *SandboxTracker) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

func (s *SandboxTracker) describe() []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.NeMoGymSandboxProviderKey.String(s.provider)}
	if id := s.ID(); id != "" {
		attrs = append(attrs, semconv.NeMoGymSandboxIDKey.String(id))
	}
	return attrs
}

// Start runs create, which returns the id of the sandbox or "", inside a span
// gym.sandbox.start, and returns its error. What is uploaded afterwards is not
// part of it. A sandbox that was created is counted in gym.sandbox.active and
// its time is in gym.sandbox.startup_duration_ms; a failed one is in neither.
// When an upload fails, release the sandbox with [SandboxTracker.Stop].
func (s *SandboxTracker) Start(ctx context.Context, create func(context.Context) (id string, err error)) (err error) {
	if !lens.IsSpanGroupEnabled(Sandbox) {
		id, err := create(ctx)
		s.created(id, err)
		return err
	}
	ctx, span := lens.ManagedSpan(ctx, Sandbox, "gym.sandbox.start", s.describe()...)
	defer lens.End(span, &err)
	began := time.Now()
	id, err := create(ctx)
	s.created(id, err)
	if err != nil {
		return err
	}
	if id != "" {
		span.SetAttributes(semconv.NeMoGymSandboxIDKey.String(id))
	}
	d := time.Since(began)
	annotate(ctx)
	record(func(r *recorders) {
		r.sandboxStartup.Record(noCancel(ctx), milliseconds(d), s.attrs)
		if s.counted.CompareAndSwap(false, true) {
			r.sandboxActive.Add(noCancel(ctx), 1, s.attrs)
		}
	})
	return nil
}

func (s *SandboxTracker) created(id string, err error) {
	if err == nil && id != "" {
		s.mu.Lock()
		s.id = id
		s.mu.Unlock()
	}
}

// CreateRetried counts an attempt to create the sandbox that is made again, in
// gym.sandbox.create_retry_total.
func (s *SandboxTracker) CreateRetried(ctx context.Context) {
	if lens.IsSpanGroupEnabled(Sandbox) {
		record(func(r *recorders) { r.sandboxRetries.Add(noCancel(ctx), 1, s.attrs) })
	}
}

// Exec runs one command inside a span gym.sandbox.exec and returns what run
// returns. The span has the return code and the type of the error, if any.
// Neither the command nor the text of an error or panic, in which the command
// could stand, is recorded. The time is in gym.sandbox.exec_duration_ms, also
// of a command that failed.
func (s *SandboxTracker) Exec(ctx context.Context, run func(context.Context) (SandboxResult, error)) (res SandboxResult, err error) {
	if !lens.IsSpanGroupEnabled(Sandbox) {
		return run(ctx)
	}
	ctx, span := lens.ManagedSpan(ctx, Sandbox, "gym.sandbox.exec", s.describe()...)
	began, returned := time.Now(), false
	defer func() {
		d := time.Since(began)
		annotate(ctx)
		record(func(r *recorders) { r.sandboxExec.Record(noCancel(ctx), milliseconds(d), s.attrs) })
		if !returned {
			v := recover()
			if v != nil {
				failed(span, v)
			}
			span.End()
			if v != nil {
				panic(v)
			}
			return // runtime.Goexit
		}
		if err != nil {
			if !errtype.CanceledIn(ctx, err) {
				failed(span, err)
			}
		} else {
			span.SetAttributes(semconv.NeMoGymSandboxReturnCodeKey.Int(res.ReturnCode))
		}
		if res.ErrorType != "" {
			span.SetAttributes(semconv.NeMoGymSandboxErrorTypeKey.String(res.ErrorType))
		}
		span.End()
	}()
	res, err = run(ctx)
	returned = true
	return res, err
}

// failed records the type of an error or panic and nothing of its text.
func failed(span trace.Span, v any) {
	kind := fmt.Sprintf("%T", v)
	if err, ok := v.(error); ok {
		kind = errtype.Of(err)
	}
	span.AddEvent("exception", trace.WithAttributes(attribute.String("exception.type", kind)))
	span.SetStatus(codes.Error, kind)
}

// Stop runs release inside a span gym.sandbox.stop and returns its error. A
// sandbox that was counted leaves gym.sandbox.active once, also when release
// fails or the group was switched off since.
func (s *SandboxTracker) Stop(ctx context.Context, release func(context.Context) error) (err error) {
	defer func() {
		if s.counted.CompareAndSwap(true, false) {
			record(func(r *recorders) { r.sandboxActive.Add(noCancel(ctx), -1, s.attrs) })
		}
	}()
	if !lens.IsSpanGroupEnabled(Sandbox) {
		return release(ctx)
	}
	ctx, span := lens.ManagedSpan(ctx, Sandbox, "gym.sandbox.stop", s.describe()...)
	defer lens.End(span, &err)
	return release(ctx)
}
