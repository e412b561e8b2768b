package resattr

import (
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/semconv"
)

// integerKeys are the resource fields that are integers and arrive as text when
// they come through the environment.
var integerKeys = map[attribute.Key]bool{
	semconv.NVDLRankKey: true, semconv.NVDLWorldSizeKey: true, semconv.NVDLLocalRankKey: true,
	semconv.NVDLTopologySizeTPKey: true, semconv.NVDLTopologySizePPKey: true, semconv.NVDLTopologySizeDPKey: true,
	semconv.NVDLTrainingConfigGlobalBatchSizeKey: true,
	semconv.NVDLTrainingConfigMicroBatchSizeKey:  true,
	semconv.NVDLTrainingConfigSequenceLengthKey:  true,
	semconv.NVDLTrainingTargetTrainItersKey:      true,
	semconv.NVDLTrainingTargetTrainSamplesKey:    true,
	semconv.NVDLTrainingTargetTrainTokensKey:     true,
	semconv.NVGPUIndexKey:                        true,
	semconv.NVGPUMemoryTotalKey:                  true,
}

// legacyIntegerKeys are integers of the base version. The reference leaves them
// alone; lens converts them too, because it emits both spellings.
var legacyIntegerKeys = map[attribute.Key]bool{
	semconv.DLRankKey: true, semconv.DLWorldSizeKey: true, semconv.DLLocalRankKey: true,
}

// slurmCounters are integers whose invalid values are dropped. Only SLURM
// detection converts them; see [IsSlurmCounter].
var slurmCounters = map[attribute.Key]bool{
	semconv.SlurmArrayCountKey: true, semconv.SlurmNNodesKey: true, semconv.SlurmNTasksKey: true, semconv.SlurmRestartCountKey: true,
}

// Normalise returns attrs with the integer fields as integers where their text
// is one (an optional sign and ASCII digits, trimmed). Anything else stays as it
// is, and an integer field that is no integer is named in a warning. attrs
// itself is not changed.
func Normalise(attrs []attribute.KeyValue) (typed []attribute.KeyValue, warnings []string) {
	typed = make([]attribute.KeyValue, len(attrs))
	for i, kv := range attrs {
		typed[i] = kv
		if !integerKeys[kv.Key] && !legacyIntegerKeys[kv.Key] || kv.Value.Type() == attribute.INT64 {
			continue
		}
		if n, ok := ParseInt(kv.Value.AsString()); ok {
			typed[i].Value = attribute.Int64Value(n)
			continue
		}
		warnings = append(warnings, fmt.Sprintf("resource attribute %s=%s is not a whole number and stays as it is", kv.Key, envtext.Quote(kv.Value.String())))
	}
	return typed, warnings
}

// IsSlurmCounter reports whether key is one of the four integer fields of SLURM
// detection, whose invalid values are dropped rather than kept.
func IsSlurmCounter(key attribute.Key) bool { return slurmCounters[key] }

// ParseInt reads an optional sign and ASCII digits, trimmed, that fit into 64
// bits.
func ParseInt(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}
