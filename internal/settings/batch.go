package settings

import (
	"fmt"
	"time"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// Batch are settings of a batch processor, within the bounds of [envtext]. A
// field that is zero was not set.
type Batch struct {
	MaxQueueSize       int
	MaxExportBatchSize int
	ScheduleDelay      time.Duration
	ExportTimeout      time.Duration // MinTimeout to MaxTimeout
}

// ParseBatch reads OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE, and
// in milliseconds OTEL_BSP_SCHEDULE_DELAY and OTEL_BSP_EXPORT_TIMEOUT. Text that is
// not a whole number above 0 leaves its field unset, with a warning. A batch
// larger than a queue that is set too is cut to the queue, with a warning.
func ParseBatch(lookup Lookup) (Batch, []Warning) { return parseBatch("OTEL_BSP_", lookup) }

// ParseLogBatch is [ParseBatch] for log records, which have OTEL_BLRP_ in front.
func ParseLogBatch(lookup Lookup) (Batch, []Warning) { return parseBatch("OTEL_BLRP_", lookup) }

func parseBatch(prefix string, lookup Lookup) (b Batch, warnings []Warning) {
	count := func(name string, low, high int) int {
		n, ok, w := first(lookup, prefix+name).number(limits{0, int64(low), int64(high)}, "")
		warnings = append(warnings, w...)
		if !ok {
			return 0
		}
		return int(n)
	}
	wait := func(name string, low, high time.Duration) time.Duration {
		d, ok, w := first(lookup, prefix+name).duration(0, low, high)
		warnings = append(warnings, w...)
		if !ok {
			return 0
		}
		return d
	}
	b.MaxQueueSize = count("MAX_QUEUE_SIZE", 1, envtext.MaxQueueSize)
	b.MaxExportBatchSize = count("MAX_EXPORT_BATCH_SIZE", 1, envtext.MaxBatchSize)
	b.ScheduleDelay = wait("SCHEDULE_DELAY", envtext.MinBatchDelay, envtext.MaxBatchDelay)
	b.ExportTimeout = wait("EXPORT_TIMEOUT", MinTimeout, MaxTimeout)
	if b.MaxQueueSize > 0 && b.MaxExportBatchSize > b.MaxQueueSize {
		warnings = append(warnings, Warning(fmt.Sprintf("lens: %sMAX_EXPORT_BATCH_SIZE is %d and the queue holds %d; using %d",
			prefix, b.MaxExportBatchSize, b.MaxQueueSize, b.MaxQueueSize)))
		b.MaxExportBatchSize = b.MaxQueueSize
	}
	return b, warnings
}
