//go:build !lens_noop

package lens_test

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
)

// Shards are evaluated two at a time, each under a span of its own. The first
// error cancels the others.
func ExampleTaskGroup() {
	defer printSpans(lens.Job, lens.Evaluate)()

	ctx, job := lens.ManagedSpan(context.Background(), lens.Job, "evaluate")
	tasks, _ := lens.NewTaskGroup(ctx, lens.Evaluate)
	tasks.SetLimit(2)
	for shard := range 3 {
		tasks.Go("shard", func(ctx context.Context) error {
			if shard == 2 {
				return errors.New("shard 2 is empty")
			}
			return nil
		}, attribute.Int("shard", shard))
	}
	err := tasks.Wait()
	lens.End(job, &err)
	fmt.Println(err)
	// Unordered output:
	// shard 2 is empty
	// evaluate ! shard 2 is empty
	//   shard shard=0
	//   shard shard=1
	//   shard shard=2 ! shard 2 is empty
}
