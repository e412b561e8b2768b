package lens

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// Version is the version of the library, as in telemetry.distro.version.
const Version = "0.1.0-dev"

// defaultPrefix is the prefix of the variables that FromEnv reads when the
// caller names none.
const defaultPrefix = "NEMO_LENS"

const (
	serviceNameVar     = "OTEL_SERVICE_NAME"
	defaultServiceName = "nemo"
)

// The exporters that Config.Exporter can name.
const (
	exporterOTLP    = "otlp"
	exporterConsole = "console"
	exporterFile    = "file"
	exporterNone    = "none"
)

// How many rotated files the file exporter keeps.
const (
	defaultFileKeep = 4
	mostFileKeep    = 1000
)

// leastFileSize keeps a mistyped size from renaming a file for every batch.
const leastFileSize = 64 << 10

// The spellings that Config.RankAttributes can name.
const (
	rankDL   = "dl"
	rankNVDL = "nv.dl"
	rankBoth = "both"
)

// Config says what to record and where to send it. [DefaultConfig] and
// [FromEnv] make one; a Config is a plain value, to be changed before it is
// given to [SetupTelemetry] and not afterwards. The comment of each field
// names its variable, to be read after the prefix, and its default.
type Config struct {
	Enabled          bool    // ENABLED, false: the master switch
	ServiceName      string  // OTEL_SERVICE_NAME (no prefix), else service.name in OTEL_RESOURCE_ATTRIBUTES, else "nemo"
	ExportStrategy   string  // EXPORT_STRATEGY, "single_rank": which ranks export
	ExportRank       int     // EXPORT_RANK, -1: the rank of single_rank; negative is the last rank
	ExportSampleRate float64 // EXPORT_SAMPLE_RATE, 1: share of the ranks, 0 to 1, for "sampled" and the rank sampler
	SamplerEnabled   bool    // SAMPLER_ENABLED, false: put the rank sampler before the configured one
	TracesEnabled    bool    // TRACES_ENABLED, true
	MetricsEnabled   bool    // METRICS_ENABLED, true
	LogsEnabled      bool    // LOGS_ENABLED, false
	SpanGroups       string  // SPAN_GROUPS, "default": the spec of the groups to record
	Exporter         string  // EXPORTER, "otlp": or "console", "file" or "none"
	RunID            string  // RUN_ID: one id for all processes of the run; empty means found or made at set-up
	User             string  // USER_ID
	WandbEntity      string  // WANDB_ENTITY (no prefix)
	WandbProject     string  // WANDB_PROJECT (no prefix)

	// Groups is the vocabulary that SpanGroups is resolved against; nil means
	// BaseGroups.
	Groups GroupResolver

	// Endpoint is where the otlp exporter sends, ENDPOINT, in the forms of
	// OTEL_EXPORTER_OTLP_ENDPOINT; Protocol is "grpc" or "http/protobuf",
	// PROTOCOL; Headers go with every request, HEADERS, as "key=value" pairs
	// separated by commas, values percent-encoded. With an Endpoint none of the
	// OTEL_EXPORTER_OTLP_* variables has a part in the export, so that what
	// they say for another product neither changes it nor leaks to it. Empty
	// means those variables.
	Endpoint string
	Protocol string
	Headers  string // never shown

	// Certificate names a PEM file with the authorities to trust instead of the
	// system's, CERTIFICATE; ClientCertificate and ClientKey name PEM files with
	// what the client shows of itself, CLIENT_CERTIFICATE and CLIENT_KEY.
	// Insecure, INSECURE, is true for plaintext and false for TLS to an endpoint
	// whose scheme does not decide it; nil means plaintext to this host and TLS
	// to others. Behind each stands the OTEL_EXPORTER_OTLP_* variable of that
	// name, unless there is an Endpoint.
	Certificate       string
	ClientCertificate string
	ClientKey         string
	Insecure          *bool

	// SingleTraceID makes one trace of the whole job, ENABLE_SINGLE_TRACEID,
	// false: every process derives the same trace id from the SLURM job, else
	// from RunID. Restarts of the job go on in the same trace.
	SingleTraceID bool

	// RankAttributes is how rank and world size are spelt in the resource,
	// RANK_ATTRIBUTES: "dl" (dl.rank, as NeMo Lens 0.2.0, the default),
	// "nv.dl" (nv.dl.rank, as the newer one) or "both".
	RankAttributes string

	// RuntimeMetrics adds the metrics of the Go runtime, RUNTIME_METRICS, false.
	RuntimeMetrics bool

	// ExporterFile is where the console exporter and the file exporter write,
	// EXPORTER_FILE. The file is appended to. {run_id}, {rank} and {pid} in the
	// name become those of the process. Empty means standard output for the
	// console exporter and nemo-lens-{run_id}-{rank}-{pid}.jsonl, in the working
	// directory, for the file exporter, which writes OTLP JSON lines as the
	// OpenTelemetry Collector's file exporter does.
	ExporterFile string

	// ExporterFileSize is the size in bytes above which the file of the file
	// exporter is renamed, with .1 behind its name, and a new one is begun,
	// EXPORTER_FILE_SIZE, 0: never. ExporterFileKeep is how many of these are
	// kept, EXPORTER_FILE_KEEP, 4; older ones are deleted. Files of other
	// exporters are not rotated.
	ExporterFileSize int64
	ExporterFileKeep int

	// FlightDir is the directory of the flight recorder, FLIGHT_DIR, none. Each
	// process keeps a file of 84 KB there with the spans that are open and the last
	// that finished, right at every instant, so that nemo-lens recover can tell what
	// it was doing when it was killed. Ranks that do not export record to it as
	// well. A directory in memory, such as one below /dev/shm, is the fastest; it
	// outlives the process, not the machine. A directory that cannot be used is a
	// warning. Not on Windows.
	FlightDir string

	// StallAfter is how long a span may be open before it is reported, once: a
	// warning, an event on the span and the metric nemo.lens.spans.stalled.
	// STALL_AFTER, 0: never. StallAfterGroups has groups with times of their own, 0
	// for never; the variable takes them as in "10m,step=30s,job=0". StallStacks
	// adds the stacks of all goroutines to the warning, at most every ten minutes,
	// STALL_STACKS, false.
	StallAfter       time.Duration
	StallAfterGroups map[SpanGroup]time.Duration
	StallStacks      bool

	// HeartbeatEvery shows a span while it goes on: each time it has been open for
	// so much longer, a child of it named nemo.span.heartbeat is exported, HEARTBEAT,
	// 0: never. At least a second.
	HeartbeatEvery time.Duration

	// ShutdownTimeout limits the whole of Shutdown, SHUTDOWN_TIMEOUT, 5 s. Zero
	// and less mean the default: it is never unlimited.
	ShutdownTimeout time.Duration

	// QueueSize, BatchSize, BatchDelay and QueueWait shape the queue between
	// the end of a span and its export: QUEUE_SIZE spans are held at most,
	// BATCH_SIZE are sent at a time, BATCH_DELAY is the longest that a span
	// waits for a batch to fill, and QUEUE_WAIT is how long in total the ends
	// of spans may wait while the queue is full, before spans are dropped and
	// counted. Zero means the OTEL_BSP_* variable, else the default.
	QueueSize  int
	BatchSize  int
	BatchDelay time.Duration
	QueueWait  time.Duration

	// BlockOnFullQueue makes the end of a span wait for room for as long as it
	// takes, BLOCK_ON_FULL_QUEUE, false. It is for tests and batch jobs that
	// would rather be slow than lose a span.
	BlockOnFullQueue bool

	prefixes []string          // that FromEnv read
	sources  map[string]string // key of a setting to the variable that it came from
	warnings []string          // to be logged at set-up
}

// DefaultConfig returns the configuration that an empty environment gives.
func DefaultConfig() Config {
	return Config{
		ServiceName:      defaultServiceName,
		ExportStrategy:   "single_rank",
		ExportRank:       -1,
		ExportSampleRate: 1,
		TracesEnabled:    true,
		MetricsEnabled:   true,
		SpanGroups:       "default",
		Exporter:         exporterOTLP,
		RankAttributes:   rankDL,
		ShutdownTimeout:  5 * time.Second,
	}
}

// FromEnv reads the configuration from the environment. For each setting it
// takes the variable <prefix>_KEY, else <fallbackPrefix>_KEY, else the
// default; a variable that is unset, empty or blank counts as not set, and one
// pair of quotes around its text, which docker --env-file keeps, is taken off. An
// empty prefix means "NEMO_LENS", an empty fallbackPrefix means no fallback,
// and a nil groupCls means [BaseGroups].
//
// All variables that cannot be read are reported in one joined error, each
// with the name of the variable that the text came from, the text, and what is
// accepted. The Config returned beside it holds every other setting, and the
// default in place of each bad one. Variables under a prefix that lens does
// not know are reported as warnings by [SetupTelemetry].
//
// Group specs, strategies and exporters are not checked here but by
// [Config.Validate], which SetupTelemetry calls.
func FromEnv(prefix, fallbackPrefix string, groupCls GroupResolver) (Config, error) {
	return fromEnviron(os.Environ(), prefix, fallbackPrefix, groupCls)
}

func fromEnviron(environ []string, prefix, fallbackPrefix string, groupCls GroupResolver) (Config, error) {
	if prefix == "" {
		prefix = defaultPrefix
	}
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	c := DefaultConfig()
	c.Groups = groupCls
	c.sources = make(map[string]string)
	c.prefixes = []string{prefix}
	if fallbackPrefix != "" && fallbackPrefix != prefix {
		c.prefixes = append(c.prefixes, fallbackPrefix)
	}
	var errs []error
	for _, s := range configSettings() {
		for _, name := range s.names(c.prefixes) {
			text := envtext.Clean(env[name])
			if s.raw {
				text = envtext.Unquote(env[name])
			}
			if text == "" {
				continue
			}
			if err := s.parse(&c, text); err != nil {
				errs = append(errs, fmt.Errorf("lens: %s=%q: %w", name, envtext.Shorten(text, 120), err))
			} else {
				c.sources[s.key] = name
			}
			break
		}
	}
	if c.sources[serviceNameVar] == "" {
		lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		if name, variable := identity.ServiceName(lookup); name != "" {
			c.ServiceName, c.sources[serviceNameVar] = name, variable
		}
	}
	c.warnings = unknownVariables(env, c.prefixes)
	return c, errors.Join(errs...)
}

var declared struct {
	sync.RWMutex
	names map[string]bool
}

// DeclareVariables tells lens of variables under a prefix given to [FromEnv]
// that the application reads itself, so that they are not warned about as
// misspelt. Give full names, before FromEnv is called.
func DeclareVariables(names ...string) {
	declared.Lock()
	defer declared.Unlock()
	if declared.names == nil {
		declared.names = make(map[string]bool)
	}
	for _, n := range names {
		declared.names[n] = true
	}
}

// unknownVariables describes the variables under the prefixes that name no
// setting. What Kubernetes injects for a Service whose name is like the prefix
// is passed over.
func unknownVariables(env map[string]string, prefixes []string) []string {
	var keys []string
	for _, s := range configSettings() {
		if !s.bare {
			keys = append(keys, s.key)
		}
	}
	var out []string
	declared.RLock()
	defer declared.RUnlock()
	for name, value := range env {
		if declared.names[name] {
			continue
		}
		for _, p := range prefixes {
			key, ok := strings.CutPrefix(name, p+"_")
			if !ok || slices.Contains(keys, key) || fromKubernetes(key, value) || ownedByLonger(name, p, prefixes) {
				continue
			}
			// Known names are upper case; a name in another case is misspelt, too.
			near := didYouMean(key, keys)
			near = strings.Replace(near, `"`, `"`+p+"_", 1)
			out = append(out, fmt.Sprintf("variable %s is not one that lens reads%s", name, near))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ownedByLonger reports whether another of the prefixes fits the name better:
// with the prefixes A and A_B, the variable A_B_X is not one of A.
func ownedByLonger(name, prefix string, prefixes []string) bool {
	for _, p := range prefixes {
		if len(p) > len(prefix) && strings.HasPrefix(name, p+"_") {
			return true
		}
	}
	return false
}

// fromKubernetes reports whether a variable is one that the kubelet makes for
// a Service: <NAME>_SERVICE_HOST, <NAME>_SERVICE_PORT, <NAME>_PORT and
// <NAME>_PORT_<number>_<protocol>… . No variable of lens has such a name.
func fromKubernetes(key, value string) bool {
	padded := "_" + key + "_"
	return strings.Contains(padded, "_SERVICE_HOST_") || strings.Contains(padded, "_SERVICE_PORT_") ||
		strings.Contains(padded, "_PORT_") || strings.HasPrefix(strings.TrimSpace(value), "tcp://") ||
		strings.HasPrefix(strings.TrimSpace(value), "udp://")
}

// ResolvedSpanGroups returns the groups that SpanGroups selects in Groups at
// this moment.
func (c Config) ResolvedSpanGroups() (GroupSet, error) {
	return c.resolver().Resolve(c.SpanGroups)
}

func (c Config) resolver() GroupResolver {
	switch g := c.Groups.(type) {
	case nil:
		return BaseGroups
	case *GroupClass:
		if g == nil {
			return BaseGroups
		}
	case *GroupRegistry:
		if g == nil {
			return BaseGroups
		}
	}
	return c.Groups
}

// Validate reports everything that SetupTelemetry would refuse in c itself, in
// one joined error: a sample rate outside 0 to 1, an exporter that lens does
// not have, an export strategy that is not registered, a negative size or
// time, and, when Groups is a fixed class, entries of SpanGroups that name
// nothing.
func (c Config) Validate() error {
	var errs []error
	bad := func(key, field string, value any, want string) {
		name := field
		if src := c.sources[key]; src != "" {
			name = fmt.Sprintf("%s (from %s)", field, src)
		}
		errs = append(errs, fmt.Errorf("lens: %s is %v: %s", name, value, want))
	}
	if !(c.ExportSampleRate >= 0 && c.ExportSampleRate <= 1) { // also NaN
		bad("EXPORT_SAMPLE_RATE", "export_sample_rate", c.ExportSampleRate, "want a number from 0 to 1")
	}
	switch c.Exporter {
	case exporterOTLP, exporterConsole, exporterFile, exporterNone:
	default:
		exporters := []string{exporterOTLP, exporterConsole, exporterFile, exporterNone}
		bad("EXPORTER", "exporter", strconv.Quote(c.Exporter),
			`unknown exporter; want "otlp", "console", "file" or "none", in lower case`+didYouMean(c.Exporter, exporters))
	}
	switch c.RankAttributes {
	case "", rankDL, rankNVDL, rankBoth:
	default:
		bad("RANK_ATTRIBUTES", "rank_attributes", strconv.Quote(c.RankAttributes), `want "dl", "nv.dl" or "both"`)
	}
	if c.ExporterFileSize < 0 || c.ExporterFileSize > 0 && c.ExporterFileSize < leastFileSize {
		bad("EXPORTER_FILE_SIZE", "exporter_file_size", c.ExporterFileSize, fmt.Sprintf("want a number of bytes from %d, or 0 for no rotation", leastFileSize))
	}
	if c.ExporterFileKeep < 0 || c.ExporterFileKeep > mostFileKeep {
		bad("EXPORTER_FILE_KEEP", "exporter_file_keep", c.ExporterFileKeep, fmt.Sprintf("want a number of files from 1 to %d, or 0 for the default", mostFileKeep))
	}
	if c.StallAfter < 0 || c.StallAfter > mostStall {
		bad("STALL_AFTER", "stall_after", c.StallAfter, fmt.Sprintf("want a time up to %gh, or 0 for never", mostStall.Hours()))
	}
	for g, d := range c.StallAfterGroups {
		if d < 0 || d > mostStall {
			bad("STALL_AFTER", "stall_after of the group "+string(g), d, fmt.Sprintf("want a time up to %gh, or 0 for never", mostStall.Hours()))
		}
	}
	if c.HeartbeatEvery != 0 && (c.HeartbeatEvery < time.Second || c.HeartbeatEvery > mostStall) {
		bad("HEARTBEAT", "heartbeat", c.HeartbeatEvery, fmt.Sprintf("want a time from 1s to %gh, or 0 for never", mostStall.Hours()))
	}
	for _, n := range []struct {
		key, field  string
		value, most int
	}{{"QUEUE_SIZE", "queue_size", c.QueueSize, envtext.MaxQueueSize}, {"BATCH_SIZE", "batch_size", c.BatchSize, envtext.MaxBatchSize}} {
		if n.value < 0 || n.value > n.most {
			bad(n.key, n.field, n.value, fmt.Sprintf("want a number of spans from 1 to %d, or 0 for the default", n.most))
		}
	}
	for _, d := range []struct {
		key, field  string
		value, most time.Duration
	}{{"BATCH_DELAY", "batch_delay", c.BatchDelay, envtext.MaxBatchDelay}, {"QUEUE_WAIT", "queue_wait", c.QueueWait, mostTime}} {
		if d.value < 0 || d.value > d.most {
			bad(d.key, d.field, d.value, fmt.Sprintf("want a time up to %gh, or 0 for the default", d.most.Hours()))
		}
	}
	if !strategyKnown(c.ExportStrategy) {
		bad("EXPORT_STRATEGY", "export_strategy", strconv.Quote(c.ExportStrategy),
			fmt.Sprintf("Unknown export_strategy%s; registered are %s",
				didYouMean(c.ExportStrategy, RegisteredExportStrategies()), strings.Join(RegisteredExportStrategies(), ", ")))
	}
	if _, err := c.ResolvedSpanGroups(); err != nil && !lenient(c.resolver(), err) {
		errs = append(errs, fmt.Errorf("lens: span_groups%s: %w", c.from("SPAN_GROUPS"), err))
	}
	return errors.Join(errs...)
}

// lenient reports whether err is what a registry says of entries that nobody
// has registered yet: they are pending, not wrong.
func lenient(r GroupResolver, err error) bool {
	var unknown *UnknownGroupError
	_, registry := r.(*GroupRegistry)
	return registry && errors.As(err, &unknown)
}

func (c Config) from(key string) string {
	if src := c.sources[key]; src != "" {
		return " (from " + src + ")"
	}
	return ""
}

// String returns every setting on one line, each with the variable that it
// came from, "default", or "code" when the application changed it. It holds no
// secret: of headers it says only whether there are any, and user-info in an
// endpoint, which set-up refuses, is left out.
func (c Config) String() string {
	parts := make([]string, 0, 32)
	for _, s := range c.Settings() {
		parts = append(parts, fmt.Sprintf("%s=%s (%s)", s.Name, s.Value, s.Source))
	}
	return strings.Join(parts, " ")
}

// Setting is one setting of a [Config].
type Setting struct {
	Name   string // in lower case, as "span_groups"
	Value  string // text is quoted, and a secret is "[REDACTED]"
	Source string // the variable that it came from, "default", or "code" when the application changed it
}

// Settings returns every setting with where it came from. It holds no secret.
func (c Config) Settings() []Setting {
	def := DefaultConfig()
	var out []Setting
	for _, s := range configSettings() {
		source := c.sources[s.key]
		value := s.show(&c)
		if source == "" {
			source = "default"
			if value != s.show(&def) {
				source = "code"
			}
		}
		out = append(out, Setting{strings.ToLower(s.key), value, source})
	}
	return out
}

// GoString is String, marked as a Config.
func (c Config) GoString() string { return "lens.Config{" + c.String() + "}" }

// Format writes String, whatever the verb, so that none prints the fields raw.
func (c Config) Format(s fmt.State, verb rune) {
	text := c.String()
	if verb == 'v' && s.Flag('#') {
		text = c.GoString()
	}
	_, _ = io.WriteString(s, text)
}

// MarshalText is String, for JSON and for slog, which would else write the
// headers. A Config is not read back from it.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
