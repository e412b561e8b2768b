package logpipe

import "time"

// The defaults and limits of a [Config].
const (
	// DefaultQueueSize is four times the SDK's. A record takes about half a kilobyte
	// besides its texts, so that a full queue takes 5 MB.
	DefaultQueueSize = 8192
	MaxQueueSize     = 1 << 20

	DefaultBatchSize = 512     // the SDK's
	MaxBatchSize     = 1 << 16 // and never more than the queue

	DefaultDelay = time.Second // the SDK's
	MinDelay     = time.Millisecond

	DefaultExportTimeout = 30 * time.Second // the SDK's
	MinExportTimeout     = time.Millisecond

	DefaultMaxWait = time.Millisecond
)

// Config says how the queue works. The zero value is the default; a number out of
// range means the nearest one that is allowed, and a negative size or time the
// default except where said otherwise.
type Config struct {
	QueueSize     int           // the most records that wait for the exporter
	BatchSize     int           // the most records of one call of the exporter
	Delay         time.Duration // how long a record waits for others to make a full batch
	ExportTimeout time.Duration // the deadline of one batch

	// MaxWait is how long producers wait while the queue is full: wall time since it
	// became full, for all of them, given anew each time a batch is taken. Negative:
	// they do not wait.
	MaxWait time.Duration

	// Block makes producers wait for room until shutdown, for tests and batch jobs
	// that prefer waiting to losing.
	Block bool
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
	return c
}
