package gym

import (
	"context"
	"fmt"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/gym/operations"
)

// Concurrency is the span group that gates the metric of [NewSemaphore]. There
// are no spans of it. NeMo Gym 0.5.1 has no such group, so it is registered
// beside [SpanGroups] and in no preset: "all" and its name select it.
const Concurrency lens.SpanGroup = "concurrency"

func init() {
	lens.DefaultRegistry.Replace(lens.MustGroupClass(Namespace+"_concurrency", []lens.SpanGroup{Concurrency}, nil))
}

// NewSemaphore is a limit of n at once that times its queue while metrics are
// exported and the group [Concurrency] is on; see package operations. Zero and
// less is no limit: the result is nil, whose methods do nothing. Site names it,
// such as "rollout_driver", "model.<name>" or "sandbox.<provider>"; it becomes
// an attribute, so let there be few.
//
// Without metrics at the moment of the call it is a plain semaphore for good.
func NewSemaphore(n int, site string) *operations.Semaphore {
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
// metrics are exported; see [operations.Metrics.Do]. Otherwise it enters the
// limit, runs the operation and leaves.
func ResourcesOperation(ctx context.Context, limit operations.Limiter, operation operations.Operation, executor operations.Executor, run func(*operations.Op) error) error {
	t, err := active()
	if err != nil {
		return unmeasured(ctx, limit, operation, run)
	}
	m := t.shared.operations.get(func() (*operations.Metrics, error) { return operations.NewMetrics(t.meter, t.metricsActive) })
	return m.Do(ctx, limit, operation, executor, run)
}

// nobody takes the outcomes that nobody asks for. One is enough, as it may be
// set by many at once.
var nobody operations.Op

func unmeasured(ctx context.Context, limit operations.Limiter, operation operations.Operation, run func(*operations.Op) error) error {
	if limit != nil {
		if err := limit.Acquire(ctx); err != nil {
			return fmt.Errorf("gym: %s operation was not let in by its limit: %w", operation, err)
		}
		defer limit.Release()
	}
	return run(&nobody)
}
