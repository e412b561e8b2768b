package envtext

import "time"

// The bounds of the queue between the end of a span or record and its export,
// whichever variable or field asks for them.
const (
	MaxQueueSize  = 1 << 20
	MaxBatchSize  = 1 << 16
	MinBatchDelay = 10 * time.Millisecond // of the OTEL_ variables, which clamp
	MaxBatchDelay = time.Hour
)
