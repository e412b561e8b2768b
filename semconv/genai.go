package semconv

import "go.opentelemetry.io/otel/attribute"

// Generative-AI attributes of the OpenTelemetry semantic conventions.
const (
	// GenAIOperationNameKey is "gen_ai.operation.name": the kind of operation, for
	// example chat or text_completion.
	//
	// Type: string
	//
	// Stability: experimental upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	GenAIOperationNameKey = attribute.Key("gen_ai.operation.name")

	// GenAIProviderNameKey is "gen_ai.provider.name": the provider of the model,
	// for example openai.
	//
	// Type: string
	//
	// Stability: experimental upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	GenAIProviderNameKey = attribute.Key("gen_ai.provider.name")

	// GenAIRequestModelKey is "gen_ai.request.model": the name of the model that
	// was asked.
	//
	// Type: string
	//
	// Stability: experimental upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	GenAIRequestModelKey = attribute.Key("gen_ai.request.model")

	// GenAITokenTypeKey is "gen_ai.token.type": which tokens are counted: input or
	// output.
	//
	// Type: string
	//
	// Stability: experimental upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	GenAITokenTypeKey = attribute.Key("gen_ai.token.type")
)
