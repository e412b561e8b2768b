package queue

import (
	"context"
	"time"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// The defaults and limits of a [Config].
const (
	// DefaultQueueSize is eight times the SDK's: bursts of some thousand spans from
	// several goroutines fit. Full, the queue itself takes 256 KiB besides the spans.
	DefaultQueueSize = 16384
	MaxQueueSize     = 1 << 20

	DefaultBatchSize = 512     // the SDK's
	MaxBatchSize     = 1 << 16 // and never more than the queue

	DefaultDelay = 5 * time.Second // the SDK's, for spans
	MinDelay     = time.Millisecond

	DefaultExportTimeout = 30 * time.Second // the SDK's
	MinExportTimeout     = time.Millisecond

	DefaultMaxWait = time.Millisecond
)

// Config says how a [Queue] works. The zero value is the default; a number out of
// range means the nearest one that is allowed, and a negative size or time the default
// except where said otherwise.
type Config struct {
	// QueueSize is the most items that wait for the exporter, up to [MaxQueueSize].
	QueueSize int

	// BatchSize is the most items of one call of the exporter. As many that wait, or
	// half a queue, wake it before the delay is over.
	BatchSize int

	// Delay is how long an item waits for others to make a full batch.
	Delay time.Duration

	// ExportTimeout is the deadline of one call of the exporter.
	ExportTimeout time.Duration

	// MaxWait is how long producers wait while the queue is full, before items are
	// dropped: wall time since it became full, for all of them, and given anew each
	// time a batch is taken. A producer that other producers overtake for that long
	// gives up at the end of the wait it is in. Negative: they do not wait.
	MaxWait time.Duration

	// Block makes producers wait for room until shutdown, for tests and batch jobs
	// that prefer waiting to losing. An exporter that itself puts something into the
	// same queue can then wait for itself.
	Block bool

	// What the items are called in errors, in the plural, and where they go. The
	// exporter is named in errors of its own.
	What, Endpoint, Exporter string

	// Close is called once at the end, when the last batch is done or there is no
	// time for it. It may be nil.
	Close func(context.Context) error

	// OnLoss is called after items were lost, with all that was lost so far, on a
	// goroutine of its own with no lock held, at most once a second: at the first
	// loss, and again when more were lost since. It is not called once the queue has
	// shut down; Shutdown's error says it then.
	OnLoss func(*outcome.LossError)
}

func (c Config) normal() Config {
	if c.QueueSize <= 0 {
		c.QueueSize = DefaultQueueSize
	}
	c.QueueSize = min(c.QueueSize, MaxQueueSize)
	if c.BatchSize <= 0 {
		c.BatchSize = DefaultBatchSize
	}
	c.BatchSize = min(c.BatchSize, MaxBatchSize, c.QueueSize)
	if c.Delay <= 0 {
		c.Delay = DefaultDelay
	}
	c.Delay = max(c.Delay, MinDelay)
	if c.ExportTimeout <= 0 {
		c.ExportTimeout = DefaultExportTimeout
	}
	c.ExportTimeout = max(c.ExportTimeout, MinExportTimeout)
	if c.MaxWait == 0 {
		c.MaxWait = DefaultMaxWait
	}
	if c.What == "" {
		c.What = "items"
	}
	if c.Exporter == "" {
		c.Exporter = "the exporter of " + c.What
	}
	return c
}
