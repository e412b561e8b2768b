// Package operations bounds the work a process does at once, and measures how long that work queues and runs.
//
// A [Semaphore] is a limit with a name, which times its own queue:
//
//	waits, err := operations.NewWaits(meter)
//	judge := operations.NewSemaphore(8, "resources.judge", waits, concurrencyIsOn)
//	if err := judge.Acquire(ctx); err != nil { ... }
//	defer judge.Release()
//
// [Metrics.Do] runs one operation of a resources server under a limit, and tells what became of it:
//
//	metrics, err := operations.NewMetrics(meter, isExporting)
//	err = metrics.Do(ctx, judge, operations.Verify, operations.Subprocess, func(op *operations.Op) error {
//		...
//		op.SetOutcome(operations.Timeout)
//		...
//	})
//
// # What is measured
//
//   - gym.concurrency.queue_wait_duration_ms, a histogram in ms by nemo.gym.concurrency.site: the wait of each
//     acquisition that succeeded, those that did not wait among them.
//   - gym.resources.operation.queue_duration_ms, a histogram in ms by operation and executor: the time until the limit
//     let the operation in, or until it gave up.
//   - gym.resources.operation.duration_ms, a histogram in ms by operation, executor and outcome: the time it ran. Its
//     counts are the counts of outcomes. An operation that gave up in the queue did not run and has no outcome.
//   - gym.resources.operation.queued and gym.resources.operation.active, up-down counters by operation and executor:
//     how many wait and how many run now.
//
// # What is this package's own choice
//
// The reference's resources operations are only partly documented: the names of the instruments, the operations, the
// executors, and that there are outcomes such as timeout and crashed. The keys of the attributes
// (nemo.gym.resources.operation, .executor, .outcome), the kind of the counters, the bucket bounds, the other outcomes
// and the rules by which they are chosen are this package's own. No parity is claimed.
package operations
