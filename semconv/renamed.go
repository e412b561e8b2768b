package semconv

import "go.opentelemetry.io/otel/attribute"

// Version is the version of the OpenTelemetry semantic conventions that the
// names were taken from, the same in all versions of NeMo Lens.
const Version = "1.29.0"

// Renamed returns the names of NeMo Lens v0.2.0 that newer versions spell
// otherwise, each with its newer spelling. The map is the caller's own.
func Renamed() map[attribute.Key]attribute.Key {
	return map[attribute.Key]attribute.Key{
		DLRankKey:      NVDLRankKey,
		DLWorldSizeKey: NVDLWorldSizeKey,
		DLLocalRankKey: NVDLLocalRankKey,
	}
}
