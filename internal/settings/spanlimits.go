package settings

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

// Limits of what one span holds.
const (
	// DefaultAttributeValueLength bounds the text of an attribute. The SDK has no
	// limit, and a receiver refuses a request above 4 MiB as a whole.
	DefaultAttributeValueLength = 16 << 10

	// MaxAttributeValueLength and MaxAttributeCount are what the variables
	// can ask for.
	MaxAttributeValueLength = 1 << 20
	MaxAttributeCount       = 1 << 16
)

// ParseSpanLimits reads OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT,
// OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT, both before their forms without SPAN_,
// OTEL_SPAN_EVENT_COUNT_LIMIT, OTEL_SPAN_LINK_COUNT_LIMIT,
// OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT and OTEL_LINK_ATTRIBUTE_COUNT_LIMIT. Zero is
// zero here: nothing of the kind is kept. A negative number, which the SDK takes
// for "no limit", gives the default and a warning. Counts are the SDK's by
// default, 128.
func ParseSpanLimits(lookup Lookup) (sdktrace.SpanLimits, []Warning) {
	var p limitParser
	p.lookup = lookup
	return sdktrace.SpanLimits{
		AttributeValueLengthLimit: p.limit(DefaultAttributeValueLength, MaxAttributeValueLength,
			"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
		AttributeValueDepthLimit: sdktrace.DefaultAttributeValueDepthLimit,
		AttributeCountLimit: p.limit(sdktrace.DefaultAttributeCountLimit, MaxAttributeCount,
			"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT"),
		EventCountLimit: p.limit(sdktrace.DefaultEventCountLimit, MaxAttributeCount,
			"OTEL_SPAN_EVENT_COUNT_LIMIT"),
		LinkCountLimit: p.limit(sdktrace.DefaultLinkCountLimit, MaxAttributeCount,
			"OTEL_SPAN_LINK_COUNT_LIMIT"),
		AttributePerEventCountLimit: p.limit(sdktrace.DefaultAttributePerEventCountLimit, MaxAttributeCount,
			"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT"),
		AttributePerLinkCountLimit: p.limit(sdktrace.DefaultAttributePerLinkCountLimit, MaxAttributeCount,
			"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT"),
	}, p.warnings
}

type limitParser struct {
	lookup   Lookup
	warnings []Warning
}

func (p *limitParser) limit(def, high int, names ...string) int {
	n, _, warnings := first(p.lookup, names...).number(limits{int64(def), 0, int64(high)}, "")
	p.warnings = append(p.warnings, warnings...)
	return int(n)
}
