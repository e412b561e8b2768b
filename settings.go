package lens

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// setting binds one variable to one field. The table of settings is the one
// list of what lens reads under its prefix.
type setting struct {
	key   string // after the prefix; the whole name when bare
	bare  bool   // no prefix
	raw   bool   // blanks are kept
	parse func(*Config, string) error
	show  func(*Config) string
}

func configSettings() []setting {
	return []setting{
		boolSetting("ENABLED", func(c *Config) *bool { return &c.Enabled }),
		bare(stringSetting(serviceNameVar, func(c *Config) *string { return &c.ServiceName })),
		stringSetting("EXPORT_STRATEGY", func(c *Config) *string { return &c.ExportStrategy }),
		intSetting("EXPORT_RANK", func(c *Config) *int { return &c.ExportRank }, math.MinInt32, math.MaxInt32,
			"a whole number; a negative one means the last rank"),
		rateSetting("EXPORT_SAMPLE_RATE", func(c *Config) *float64 { return &c.ExportSampleRate }),
		boolSetting("SAMPLER_ENABLED", func(c *Config) *bool { return &c.SamplerEnabled }),
		boolSetting("TRACES_ENABLED", func(c *Config) *bool { return &c.TracesEnabled }),
		boolSetting("METRICS_ENABLED", func(c *Config) *bool { return &c.MetricsEnabled }),
		boolSetting("LOGS_ENABLED", func(c *Config) *bool { return &c.LogsEnabled }),
		stringSetting("SPAN_GROUPS", func(c *Config) *string { return &c.SpanGroups }),
		stringSetting("EXPORTER", func(c *Config) *string { return &c.Exporter }),
		endpointSetting("ENDPOINT", func(c *Config) *string { return &c.Endpoint }),
		stringSetting("PROTOCOL", func(c *Config) *string { return &c.Protocol }),
		secretSetting("HEADERS", func(c *Config) *string { return &c.Headers }),
		stringSetting("CERTIFICATE", func(c *Config) *string { return &c.Certificate }),
		stringSetting("CLIENT_CERTIFICATE", func(c *Config) *string { return &c.ClientCertificate }),
		stringSetting("CLIENT_KEY", func(c *Config) *string { return &c.ClientKey }),
		insecureSetting(),
		boolSetting("ENABLE_SINGLE_TRACEID", func(c *Config) *bool { return &c.SingleTraceID }),
		stringSetting("RANK_ATTRIBUTES", func(c *Config) *string { return &c.RankAttributes }),
		boolSetting("RUNTIME_METRICS", func(c *Config) *bool { return &c.RuntimeMetrics }),
		stringSetting("EXPORTER_FILE", func(c *Config) *string { return &c.ExporterFile }),
		sizeSetting("EXPORTER_FILE_SIZE", func(c *Config) *int64 { return &c.ExporterFileSize }),
		intSetting("EXPORTER_FILE_KEEP", func(c *Config) *int { return &c.ExporterFileKeep }, 1, mostFileKeep,
			fmt.Sprintf("a whole number of files from 1 to %d", mostFileKeep)),
		stringSetting("RUN_ID", func(c *Config) *string { return &c.RunID }),
		stringSetting("USER_ID", func(c *Config) *string { return &c.User }),
		raw(bare(stringSetting("WANDB_ENTITY", func(c *Config) *string { return &c.WandbEntity }))),
		raw(bare(stringSetting("WANDB_PROJECT", func(c *Config) *string { return &c.WandbProject }))),
		stringSetting("FLIGHT_DIR", func(c *Config) *string { return &c.FlightDir }),
		stallSetting(),
		boolSetting("STALL_STACKS", func(c *Config) *bool { return &c.StallStacks }),
		durationSetting("HEARTBEAT", func(c *Config) *time.Duration { return &c.HeartbeatEvery }, mostStall),
		durationSetting("SHUTDOWN_TIMEOUT", func(c *Config) *time.Duration { return &c.ShutdownTimeout }, mostTime),
		intSetting("QUEUE_SIZE", func(c *Config) *int { return &c.QueueSize }, 1, envtext.MaxQueueSize,
			fmt.Sprintf("a whole number of spans from 1 to %d", envtext.MaxQueueSize)),
		intSetting("BATCH_SIZE", func(c *Config) *int { return &c.BatchSize }, 1, envtext.MaxBatchSize,
			fmt.Sprintf("a whole number of spans from 1 to %d", envtext.MaxBatchSize)),
		durationSetting("BATCH_DELAY", func(c *Config) *time.Duration { return &c.BatchDelay }, envtext.MaxBatchDelay),
		durationSetting("QUEUE_WAIT", func(c *Config) *time.Duration { return &c.QueueWait }, mostTime),
		boolSetting("BLOCK_ON_FULL_QUEUE", func(c *Config) *bool { return &c.BlockOnFullQueue }),
	}
}

// names returns the variables that can give the setting, first choice first.
func (s setting) names(prefixes []string) []string {
	if s.bare {
		return []string{s.key}
	}
	names := make([]string, len(prefixes))
	for i, p := range prefixes {
		names[i] = p + "_" + s.key
	}
	return names
}

func bare(s setting) setting { s.bare = true; return s }

func raw(s setting) setting { s.raw = true; return s }

func boolSetting(key string, field func(*Config) *bool) setting {
	return setting{key: key,
		parse: func(c *Config, text string) error {
			v, err := parseBool(text)
			if err == nil {
				*field(c) = v
			}
			return err
		},
		show: func(c *Config) string { return strconv.FormatBool(*field(c)) },
	}
}

// insecureSetting is a boolean that can be unset.
func insecureSetting() setting {
	return setting{key: "INSECURE",
		parse: func(c *Config, text string) error {
			v, err := parseBool(text)
			if err == nil {
				c.Insecure = &v
			}
			return err
		},
		show: func(c *Config) string {
			if c.Insecure == nil {
				return `""`
			}
			return strconv.FormatBool(*c.Insecure)
		},
	}
}

func parseBool(text string) (bool, error) { return envtext.Bool(text) }

func stringSetting(key string, field func(*Config) *string) setting {
	return setting{key: key,
		parse: func(c *Config, text string) error { *field(c) = text; return nil },
		show:  func(c *Config) string { return strconv.Quote(*field(c)) },
	}
}

// endpointSetting does not show user-info, query and fragment, which may hold a
// password.
func endpointSetting(key string, field func(*Config) *string) setting {
	s := stringSetting(key, field)
	s.show = func(c *Config) string {
		text := *field(c)
		if at := strings.LastIndexByte(text, '@'); at >= 0 {
			text = redacted + text[at:]
		}
		if end := strings.IndexAny(text, "?#"); end >= 0 {
			text = text[:end+1] + redacted
		}
		return strconv.Quote(text)
	}
	return s
}

// secretSetting never shows the text.
func secretSetting(key string, field func(*Config) *string) setting {
	return setting{key: key,
		parse: func(c *Config, text string) error { *field(c) = text; return nil },
		show: func(c *Config) string {
			if *field(c) == "" {
				return `""`
			}
			return redacted
		},
	}
}

func intSetting(key string, field func(*Config) *int, low, high int, want string) setting {
	return setting{key: key,
		parse: func(c *Config, text string) error {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < int64(low) || n > int64(high) {
				return errors.New("want " + want)
			}
			*field(c) = int(n)
			return nil
		},
		show: func(c *Config) string { return strconv.Itoa(*field(c)) },
	}
}

// sizeSetting takes bytes, with a unit or without.
func sizeSetting(key string, field func(*Config) *int64) setting {
	return setting{key: key,
		parse: func(c *Config, text string) error {
			n, err := parseSize(text)
			if err == nil {
				*field(c) = n
			}
			return err
		},
		show: func(c *Config) string { return strconv.FormatInt(*field(c), 10) },
	}
}

// parseSize takes a whole number of bytes, or of kB, MB and GB (powers of 1000) or KiB,
// MiB and GiB (powers of 1024), in any case.
func parseSize(text string) (int64, error) {
	units := []struct {
		name  string
		bytes int64
	}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"b", 1}, {"", 1}}
	lower := strings.ToLower(text)
	for _, u := range units {
		digits, ok := strings.CutSuffix(lower, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, errors.New(`want a size such as "100MB" or "1GiB", or a whole number of bytes`)
}

func rateSetting(key string, field func(*Config) *float64) setting {
	return setting{key: key,
		parse: func(c *Config, text string) error {
			v, err := strconv.ParseFloat(text, 64)
			// ParseFloat also takes hexadecimal and underscores, the reference does not.
			if err != nil || strings.ContainsAny(text, "xX_") || !(v >= 0 && v <= 1) {
				return fmt.Errorf("%s: want a number from 0 to 1, for example 0.25", strings.ToLower(key))
			}
			*field(c) = v
			return nil
		},
		show: func(c *Config) string { return strconv.FormatFloat(*field(c), 'g', -1, 64) },
	}
}

func durationSetting(key string, field func(*Config) *time.Duration, most time.Duration) setting {
	return setting{key: key,
		parse: func(c *Config, text string) error {
			v, err := parseDuration(text, most)
			if err == nil {
				*field(c) = v
			}
			return err
		},
		show: func(c *Config) string { return field(c).String() },
	}
}

// mostStall bounds the times after which a span that is open is spoken of.
const mostStall = 30 * 24 * time.Hour

// stallSetting is a time, and times of groups: "10m,step=30s,job=0".
func stallSetting() setting {
	return setting{key: "STALL_AFTER",
		parse: func(c *Config, text string) error {
			var all time.Duration
			groups := map[SpanGroup]time.Duration{}
			given := false
			for part := range strings.SplitSeq(text, ",") {
				part = strings.TrimSpace(part)
				name, value, ofGroup := strings.Cut(part, "=")
				name = strings.ToLower(strings.TrimSpace(name))
				switch {
				case part == "":
					continue
				case ofGroup && !validName(name):
					return fmt.Errorf(`%q is no group: want a time, or times of groups as in "10m,step=30s"`, name)
				case !ofGroup && given:
					return fmt.Errorf(`there are two times without a group: want one, and times of groups as in "10m,step=30s"`)
				case !ofGroup:
					value, given = part, true
				}
				d, err := parseDuration(strings.TrimSpace(value), mostStall)
				if err != nil {
					return err
				}
				if ofGroup {
					groups[SpanGroup(name)] = d
				} else {
					all = d
				}
			}
			c.StallAfter, c.StallAfterGroups = all, nil
			if len(groups) > 0 {
				c.StallAfterGroups = groups
			}
			return nil
		},
		show: func(c *Config) string {
			text := c.StallAfter.String()
			for _, g := range slices.Sorted(maps.Keys(c.StallAfterGroups)) {
				text += "," + string(g) + "=" + c.StallAfterGroups[g].String()
			}
			return text
		},
	}
}

// mostTime bounds the times that have no bound of their own.
const mostTime = 24 * time.Hour

// parseDuration takes a Go duration, or a whole number of milliseconds as in
// the OTEL_* variables. Zero means the default.
func parseDuration(text string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if ms, msErr := strconv.ParseInt(text, 10, 32); msErr == nil {
		d, err = time.Duration(ms)*time.Millisecond, nil
	}
	if err != nil || d < 0 || d > most {
		return 0, fmt.Errorf(`want a time up to %gh such as "500ms" or "5s", or a whole number of milliseconds`, most.Hours())
	}
	return d, nil
}
