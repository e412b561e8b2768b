package semconv

import "go.opentelemetry.io/otel/attribute"

// Attributes of a NeMo run and of its experiment tracking.
const (
	// NeMoRunIDKey is "nemo.run.id": the id of the run, one for all its processes.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	NeMoRunIDKey = attribute.Key("nemo.run.id")

	// NeMoUserIDKey is "nemo.user.id": the user who started the run.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	NeMoUserIDKey = attribute.Key("nemo.user.id")

	// NeMoSpanTruncatedKey is "nemo.span.truncated": true on a span that was still
	// open when telemetry was shut down, and the name of the event on it.
	//
	// Type: boolean
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	NeMoSpanTruncatedKey = attribute.Key("nemo.span.truncated")

	// NeMoSpanTruncatedReasonKey is "nemo.span.truncated.reason": why a span was
	// ended early; an attribute of its event.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions (without a constant)
	NeMoSpanTruncatedReasonKey = attribute.Key("nemo.span.truncated.reason")

	// WandbEntityKey is "wandb.entity": the Weights & Biases entity of the run.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	WandbEntityKey = attribute.Key("wandb.entity")

	// WandbProjectKey is "wandb.project": the Weights & Biases project of the run.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	WandbProjectKey = attribute.Key("wandb.project")
)
