package lens

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens/internal/identity/resattr"
	global "github.com/nemo-lens/lens/internal/pipeline/globals/carrier"
	"github.com/nemo-lens/lens/internal/web/w3c"
	"github.com/nemo-lens/lens/semconv"
)

// off is what a switched-off site gets: it records nothing.
var off trace.Span = noop.Span{}

// InjectContext writes the span context and the baggage of ctx into carrier
// with the global propagator, by default as W3C traceparent, tracestate and
// baggage, and always so in a build with the tag lens_noop. It writes nothing when ctx has neither, or when carrier is nil.
func InjectContext(ctx context.Context, carrier map[string]string) {
	if ctx != nil && carrier != nil {
		global.Inject(ctx, carrier)
	}
}

// ExtractContext returns ctx with the span context and the baggage of carrier
// in place of its own. A carrier that holds no valid span context therefore
// gives a context in which the next span is a root. Keys are compared exactly,
// and are in lower case in the W3C format.
func ExtractContext(ctx context.Context, carrier map[string]string) context.Context {
	return global.Extract(withoutTrace(ctx), carrier)
}

func withoutTrace(ctx context.Context) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if trace.SpanContextFromContext(ctx).IsValid() {
		ctx = trace.ContextWithSpan(ctx, off)
	}
	if baggage.FromContext(ctx).Len() > 0 {
		ctx = baggage.ContextWithoutBaggage(ctx)
	}
	return ctx
}

// Detach returns a context for work that outlives its caller: it keeps the
// values of ctx, and with them the trace, but neither deadline nor cancellation.
func Detach(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return context.WithoutCancel(ctx)
}

// The environment variables that carry a trace to a child process, and the
// W3C header that each stands for
// (https://opentelemetry.io/docs/specs/otel/context/env-carriers/).
var envKeys = map[string]string{
	"TRACEPARENT": "traceparent",
	"TRACESTATE":  "tracestate",
	"BAGGAGE":     "baggage",
}

// InjectEnv returns a copy of env, in the form of [os.Environ] and
// [os/exec.Cmd.Env], in which TRACEPARENT, TRACESTATE and BAGGAGE are those of
// ctx, in the W3C format. Older ones of any case are gone, so that a child
// never continues the trace of somebody else.
func InjectEnv(ctx context.Context, env []string) []string {
	out := make([]string, 0, len(env)+len(envKeys))
	for _, kv := range env {
		if _, carried := envKeys[envName(kv)]; !carried {
			out = append(out, kv)
		}
	}
	carrier := w3c.Map{}
	if ctx != nil {
		w3c.Inject(ctx, carrier)
	}
	for _, name := range slices.Sorted(maps.Keys(envKeys)) {
		if v := carrier[envKeys[name]]; v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// ChildEnv returns a copy of env, for [os/exec.Cmd.Env], with what makes a
// child process part of this run: the trace of ctx, as [InjectEnv] writes it,
// and the run id, which the child's set-up finds in OTEL_RESOURCE_ATTRIBUTES
// unless it is told another one. The service.instance.id of this process is taken
// out of that variable: a child is an instance of its own.
func (h *TelemetryHandle) ChildEnv(ctx context.Context, env []string) []string {
	env = InjectEnv(ctx, env)
	if id := h.RunID(); id != "" {
		// An attribute without a value is taken out.
		env = resattr.Environ(env, []attribute.KeyValue{semconv.NeMoRunIDKey.String(id), {Key: semconv.ServiceInstanceIDKey}})
	}
	return env
}

func envName(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return strings.ToUpper(name)
}

// ExtractEnv returns ctx with the trace that a parent process handed down in
// TRACEPARENT, TRACESTATE and BAGGAGE. The names are found in any case, the
// upper-case one first, and blanks around the values are ignored. Without a
// valid TRACEPARENT the trace of ctx stays.
func ExtractEnv(ctx context.Context) context.Context { return extractEnviron(ctx, os.Environ()) }

func extractEnviron(ctx context.Context, environ []string) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	carrier := w3c.Map{}
	exact := make(map[string]bool)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		key, carried := envKeys[strings.ToUpper(name)]
		value = strings.TrimSpace(value)
		if !carried || value == "" || exact[key] {
			continue
		}
		carrier[key] = value
		exact[key] = name == strings.ToUpper(name)
	}
	return w3c.Extract(ctx, carrier)
}

// SerializeContext returns the span context and the baggage of ctx as a JSON
// object in UTF-8 with the W3C headers, for transports that carry bytes. It is
// "{}" when ctx has neither.
func SerializeContext(ctx context.Context) []byte {
	carrier := w3c.Map{}
	if ctx != nil {
		w3c.Inject(ctx, carrier)
	}
	data, err := json.Marshal(carrier)
	if err != nil { // a map of strings always marshals
		return []byte("{}")
	}
	return data
}

// DeserializeContext returns ctx with what [SerializeContext] has written, here
// or in another language, in place of its own span context and baggage. Data
// that is not a JSON object of strings in UTF-8 gives ctx itself back.
func DeserializeContext(ctx context.Context, data []byte) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	carrier, err := parseCarrier(data)
	if err != nil {
		return ctx
	}
	return w3c.Extract(withoutTrace(ctx), w3c.Map(carrier))
}

func parseCarrier(data []byte) (map[string]string, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("lens: a trace context of %d bytes is not UTF-8", len(data))
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, fmt.Errorf("lens: a trace context of %d bytes is not a JSON object", len(data))
	}
	// Pointers tell null, which is not a string, from "".
	var values map[string]*string
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, fmt.Errorf("lens: a trace context of %d bytes is not a JSON object of strings", len(data))
	}
	carrier := make(map[string]string, len(values))
	for k, v := range values {
		if v == nil {
			return nil, fmt.Errorf("lens: a trace context of %d bytes is not a JSON object of strings", len(data))
		}
		carrier[k] = *v
	}
	return carrier, nil
}

// Broadcaster sends bytes from one rank to all ranks of a job, as a collective
// operation: every rank calls Broadcast with the same root, the root with the
// payload and the others with nil, and every rank gets the payload of the root.
type Broadcaster interface {
	Broadcast(ctx context.Context, root int, payload []byte) ([]byte, error)
}

// BroadcastTraceContext gives every rank of a job the trace context that ctx
// has on rank root. It returns a carrier for [ExtractContext], which is empty
// when ctx has no span on that rank, and nil when b is nil. It is a collective
// operation: call it on every rank, whatever groups are on there.
//
// The payload is that of [SerializeContext], so Go and Python ranks of one job
// can take part together.
func BroadcastTraceContext(ctx context.Context, b Broadcaster, rank, root int) (map[string]string, error) {
	if b == nil {
		return nil, nil
	}
	if rank < 0 || root < 0 {
		return nil, fmt.Errorf("lens: BroadcastTraceContext: rank %d and root %d: want numbers from 0", rank, root)
	}
	var payload []byte
	if rank == root {
		payload = SerializeContext(ctx)
	}
	data, err := b.Broadcast(ctx, root, payload)
	if err != nil {
		return nil, fmt.Errorf("lens: broadcasting the trace context from rank %d to rank %d: %w", root, rank, err)
	}
	return parseCarrier(data)
}
