package gym

import (
	"context"
	"fmt"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/gym/internal/operations"
)

// Concurrency is the span group that gates the metric of [NewSemaphore]. There
// are no spans of it. NeMo Gym 0.5.1 has no such group, so it is registered
// beside [SpanGroups] and in no preset: "all" and its name select it.
const Concurrency lens.SpanGroup = "concurrency"

func init() {
	lens.DefaultRegistry.Replace(lens.MustGroupClass(Namespace+"_concurrency", []lens.SpanGroup{Concurrency}, nil))
}

// Semaphore is a limit on concurrency: first come, first served. Acquire(ctx)
// waits until the caller is let in or ctx ends, and Release gives the place back.
// It is safe for concurrent use; a nil *Semaphore lets everyone in.
type Semaphore = operations.Semaphore

// Limiter bounds the operations of [ResourcesOperation]. Release gives back what
// one successful Acquire took.
type Limiter interface {
	Acquire(ctx context.Context) error
	Release()
}

// Operation is what a resources server does. Anything but the constants counts as
// [OperationOther].
type Operation = operations.Operation

// Executor is where it is done. Anything but the constants counts as
// [ExecutorOther].
type Executor = operations.Executor

// OperationOutcome is what became of it. Anything but the constants counts as
// [OutcomeOther].
type OperationOutcome = operations.Outcome

// The operations, executors and outcomes that are told apart.
const (
	OperationVerify = operations.Verify
	OperationTool   = operations.Tool
	OperationJudge  = operations.Judge
	OperationOther  = operations.OtherOperation

	ExecutorInline     = operations.Inline  // in the goroutine of the request
	ExecutorThread     = operations.Thread  // in another goroutine
	ExecutorProcess    = operations.Process // in a worker process that stays
	ExecutorSubprocess = operations.Subprocess
	ExecutorOther      = operations.OtherExecutor

	OutcomeOK       = operations.OK       // it returned no error
	OutcomeFailed   = operations.Failed   // it returned one
	OutcomeTimeout  = operations.Timeout  // one that says a deadline passed
	OutcomeCanceled = operations.Canceled // one that says it was canceled
	OutcomeCrashed  = operations.Crashed  // it panicked, or ended its goroutine
	OutcomeOther    = operations.OtherOutcome
)

// RunningOperation is an operation that runs. Its method SetOutcome says what
// became of it, in place of what its error would say; the last call counts. It is
// safe for concurrent use.
type RunningOperation = operations.Op

// NewSemaphore is a limit of n at once that times its queue while metrics are
// exported and the group [Concurrency] is on. Zero and
// less is no limit: the result is nil, whose methods do nothing. Site names it,
// such as "rollout_driver", "model.<name>" or "sandbox.<provider>"; it becomes
// an attribute, so let there be few.
//
// Without metrics at the moment of the call it is a plain semaphore for good.
func NewSemaphore(n int, site string) *Semaphore {
	t, err := active()
	if err != nil {
		return operations.NewSemaphore(n, site, nil, nil)
	}
	waits := t.shared.waits.get(func() (*operations.Waits, error) { return operations.NewWaits(t.meter) })
	return operations.NewSemaphore(n, site, waits, func() bool {
		return lens.IsSpanGroupEnabled(Concurrency) && t.metricsActive()
	})
}

// ResourcesOperation runs one operation of a resources server under a limit,
// which may be nil, and measures its queue, its run and its outcome while
// metrics are exported. Otherwise it enters the limit, runs the operation and
// leaves. The error is that of run, or the limit's, wrapped, when it did not let
// the operation in. A panic passes through.
func ResourcesOperation(ctx context.Context, limit Limiter, operation Operation, executor Executor, run func(*RunningOperation) error) error {
	t, err := active()
	if err != nil {
		return unmeasured(ctx, limit, operation, run)
	}
	m := t.shared.operations.get(func() (*operations.Metrics, error) { return operations.NewMetrics(t.meter, t.metricsActive) })
	return m.Do(ctx, limit, operation, executor, run)
}

// nobody takes the outcomes that nobody asks for. One is enough, as it may be
// set by many at once.
var nobody RunningOperation

func unmeasured(ctx context.Context, limit Limiter, operation Operation, run func(*RunningOperation) error) error {
	if limit != nil {
		if err := limit.Acquire(ctx); err != nil {
			return fmt.Errorf("gym: %s operation was not let in by its limit: %w", operation, err)
		}
		defer limit.Release()
	}
	return run(&nobody)
}
