package semconv

import "go.opentelemetry.io/otel/attribute"

// Evidence on a span whose end was given before its start.
const (
	// InvertedSkewKey is "inverted.skew": true on a span whose end was moved to
	// its start.
	//
	// Type: boolean
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	InvertedSkewKey = attribute.Key("inverted.skew")

	// InvertedStartEpochSecondsKey is "inverted.start_epoch_seconds": the start as
	// it was given, in seconds since the Unix epoch.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	InvertedStartEpochSecondsKey = attribute.Key("inverted.start_epoch_seconds")

	// InvertedEndEpochSecondsKey is "inverted.end_epoch_seconds": the end as it
	// was given, in seconds since the Unix epoch.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	InvertedEndEpochSecondsKey = attribute.Key("inverted.end_epoch_seconds")

	// InvertedDeltaSecondsKey is "inverted.delta_seconds": by how much the end was
	// before the start, in seconds as decimal text.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	InvertedDeltaSecondsKey = attribute.Key("inverted.delta_seconds")
)
