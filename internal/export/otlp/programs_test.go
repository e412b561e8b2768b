package otlp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/record"
)

// TestPrograms runs random programs of span operations against the SDK and
// against the recorder, with the same ids and the same clock. Everything that a
// program could see must be equal: what processors and samplers are shown,
// contexts, identities. And so must the bytes that leave: those of OpenTelemetry's
// exporter for the SDK's spans, with text repaired as guard does it.
//
// What differs on purpose, and how the comparison treats it:
//   - DroppedEvents and DroppedLinks of an ended span with a limit of 0 are the
//     real numbers here, and 0 in the SDK's snapshot; they are compared with
//     those of the SDK's open span.
//   - OpenTelemetry's exporter leaves out the trace state of links (FB7). It is put in.
//   - Times have no reading of the monotonic clock, and a span that was started
//     more than 292 years from now and ended without a time ends now, while the SDK
//     ends it at most 292 years away from its start. Not generated.
//   - The stack of a recorded error is whole, and the SDK's is cut at 2048 bytes.
//     Only its presence is compared.
//   - An id that is all zero, and a panic in a sampler, an id generator, a
//     processor, an Error method or a context, reach the program with the SDK and
//     do not here. Not generated; see faults_test.go.
//   - Nothing is measured about itself (OTEL_GO_X_OBSERVABILITY).
//   - The resource is what was given; the SDK merges the environment into it.
//   - After Shutdown, ended spans still go to the sink, which accounts for them;
//     no processor sees them, as with the SDK.
var programs = flag.Int("programs", 1000, "number of random programs that TestPrograms runs")

func TestPrograms(t *testing.T) {
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for seed := worker; seed < *programs && !t.Failed(); seed += workers {
				if diff := runProgram(t, randomProgram(uint64(seed))); diff != "" {
					t.Errorf("program %d differs from the SDK: %s", seed, diff)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d programs", *programs)
}

func randomProgram(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	data := make([]byte, 20+r.IntN(300))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func FuzzPrograms(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(randomProgram(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if diff := runProgram(t, data); diff != "" {
			t.Fatalf("differs from the SDK: %s", diff)
		}
	})
}

// script is what a program is read from: a byte a choice, and 0 after the end.
type script struct{ data []byte }

func (s *script) done() bool { return len(s.data) == 0 }

func (s *script) n(limit int) int {
	if s.done() {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % limit
}

func (s *script) chance(in int) bool { return s.n(in) == 1 }

func pick[T any](s *script, all ...T) T { return all[s.n(len(all))] }

// side is one of the two implementations in the middle of a program.
type side struct {
	provider interface {
		trace.TracerProvider
		Shutdown(context.Context) error
		ForceFlush(context.Context) error
	}
	tracers []trace.Tracer
	seen    []seen // contexts and spans, as started
	log     []string
	views   []view
	open    map[trace.SpanID]sdktrace.ReadWriteSpan
	ids     uint64
	sunk    []trace.SpanID
	sampled []sdktrace.ReadOnlySpan // as they ended
	stacks  bool                    // some have one
}

type seen struct {
	ctx  context.Context
	span trace.Span
}

// view is what a read-only span shows, in a form that can be compared.
type view struct {
	Name                   string
	Context, Parent        string
	Kind                   trace.SpanKind
	Start, End             string
	Attributes             string
	Links, Events          []string
	Status                 sdktrace.Status
	DroppedA, DroppedE     int
	DroppedL, Children     int
	Scope                  instrumentation.Scope
	Resource               string
	SameLibrary, Recording bool
}

func viewOf(s sdktrace.ReadOnlySpan) view {
	v := view{
		Name: s.Name(), Context: contextText(s.SpanContext()), Parent: contextText(s.Parent()), Kind: s.SpanKind(),
		Start: timeText(s.StartTime()), End: timeText(s.EndTime()), Attributes: attrsText(s.Attributes()),
		Status: s.Status(), DroppedA: s.DroppedAttributes(), DroppedE: s.DroppedEvents(), DroppedL: s.DroppedLinks(),
		Children: s.ChildSpanCount(), Scope: s.InstrumentationScope(), Resource: s.Resource().String(),
		SameLibrary: s.InstrumentationLibrary() == s.InstrumentationScope(), //lint:ignore SA1019 The interface has it.
	}
	for _, l := range s.Links() {
		v.Links = append(v.Links, fmt.Sprint(contextText(l.SpanContext), attrsText(l.Attributes), l.DroppedAttributeCount))
	}
	for _, e := range s.Events() {
		v.Events = append(v.Events, fmt.Sprintf("%q %s %s %d", e.Name, timeText(e.Time), attrsText(e.Attributes), e.DroppedAttributeCount))
	}
	return v
}

func contextText(sc trace.SpanContext) string {
	return fmt.Sprint(sc.TraceID(), sc.SpanID(), sc.TraceFlags(), sc.IsRemote(), sc.TraceState().String())
}

func timeText(t time.Time) string {
	return t.Round(0).Format(time.RFC3339Nano) + " " + t.Location().String()
}

// semconvStack is the key of a stack.
const semconvStack = "exception.stacktrace"

var (
	errProgram = errors.New("it broke")
	linked     = trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
)

func attrsText(attrs []attribute.KeyValue) string {
	var b strings.Builder
	for _, kv := range attrs {
		if kv.Key == semconvStack {
			fmt.Fprintf(&b, "stack %t;", strings.Contains(kv.Value.AsString(), "goroutine"))
			continue
		}
		fmt.Fprintf(&b, "%q=%s;", string(kv.Key), valueText(kv.Value))
	}
	return b.String()
}

func valueText(v attribute.Value) string {
	switch v.Type() {
	case attribute.FLOAT64:
		return fmt.Sprintf("f%x", math.Float64bits(v.AsFloat64()))
	case attribute.SLICE:
		text := "["
		for _, m := range v.AsSlice() {
			text += valueText(m) + ","
		}
		return text + "]"
	case attribute.MAP:
		return "{" + attrsText(v.AsMap()) + "}"
	}
	return fmt.Sprintf("%d:%q", v.Type(), fmt.Sprint(v.AsInterface()))
}

// NewIDs and NewSpanID count, so that both sides get the same.
func (s *side) NewIDs(ctx context.Context) (t trace.TraceID, _ trace.SpanID) {
	s.ids++
	// As random as a ratio sampler needs it.
	binary.BigEndian.PutUint64(t[:8], s.ids)
	binary.BigEndian.PutUint64(t[8:], s.ids*0x9e3779b97f4a7c15)
	return t, s.NewSpanID(ctx, t)
}

func (s *side) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	s.ids++
	binary.BigEndian.PutUint64(id[:], s.ids)
	s.log = append(s.log, "ids "+contextText(trace.SpanContextFromContext(ctx)))
	return id
}

// observer is a processor of the program.
type observer struct {
	*side
	first bool // of several
}

func (o observer) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	v := viewOf(s)
	v.Recording = s.IsRecording()
	o.log = append(o.log, "start "+contextText(trace.SpanContextFromContext(parent)))
	o.views = append(o.views, v)
	o.open[s.SpanContext().SpanID()] = s
	s.SetAttributes(attribute.Int("of.the.processor", 1))
}

func (o observer) OnEnd(s sdktrace.ReadOnlySpan) {
	v := viewOf(s)
	rw := o.open[s.SpanContext().SpanID()]
	v.DroppedE, v.DroppedL = rw.DroppedEvents(), rw.DroppedLinks()
	v.Recording = rw.IsRecording()
	o.views = append(o.views, v)
	if o.first && s.SpanContext().IsSampled() {
		o.sampled = append(o.sampled, withDropped{s, v.DroppedE, v.DroppedL}.unlessOurs())
	}
}

// withDropped is a span with the real numbers of what it dropped.
type withDropped struct {
	sdktrace.ReadOnlySpan
	events, links int
}

func (w withDropped) DroppedEvents() int { return w.events }
func (w withDropped) DroppedLinks() int  { return w.links }

func (w withDropped) unlessOurs() sdktrace.ReadOnlySpan {
	if _, ok := w.ReadOnlySpan.(*record.Span); ok {
		return w.ReadOnlySpan
	}
	return w
}

func (o observer) Shutdown(context.Context) error {
	o.log = append(o.log, "shutdown")
	return errors.New("observer shut down")
}

func (o observer) ForceFlush(context.Context) error {
	o.log = append(o.log, "flush")
	return errors.New("observer flushed")
}

// oracle is a sampler that decides by the name, with attributes and a state.
type oracle struct{ *side }

func (o oracle) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	o.log = append(o.log, fmt.Sprintf("sample %s %q %d %s %s %d", p.TraceID, p.Name, p.Kind,
		attrsText(p.Attributes), contextText(trace.SpanContextFromContext(p.ParentContext)), len(p.Links)))
	state := trace.SpanContextFromContext(p.ParentContext).TraceState()
	switch len(p.Name) % 3 {
	case 0:
		state = trace.TraceState{}
	case 1:
		state, _ = state.Insert("oracle", "said"+fmt.Sprint(len(p.Attributes)))
	}
	return sdktrace.SamplingResult{
		Decision:   sdktrace.SamplingDecision((len(p.Name) + len(p.Attributes)) % 4), // 3 is none of them
		Attributes: []attribute.KeyValue{attribute.String("sampler", "oracle"), attribute.Int("a", 9), attribute.String("", "no key")},
		Tracestate: state,
	}
}

func (oracle) Description() string { return "oracle" }

func sampler(script *script, s *side) sdktrace.Sampler {
	roots := []sdktrace.Sampler{
		sdktrace.AlwaysSample(), sdktrace.NeverSample(), sdktrace.TraceIDRatioBased(0.5), sdktrace.TraceIDRatioBased(0),
		sdktrace.TraceIDRatioBased(1), oracle{s}, oracle{s}, sdktrace.AlwaysRecord(sdktrace.TraceIDRatioBased(0.3)),
	}
	root := roots[script.n(len(roots))]
	switch script.n(4) {
	case 0:
		return sdktrace.ParentBased(root)
	case 1:
		return sdktrace.ParentBased(root, sdktrace.WithRemoteParentSampled(oracle{s}), sdktrace.WithLocalParentNotSampled(sdktrace.AlwaysSample()))
	}
	return root
}

var programResource = resource.NewSchemaless(attribute.String("service.name", "program"))

func (s *side) init(theirs bool, limits sdktrace.SpanLimits, sampler sdktrace.Sampler, processors int) {
	s.open = make(map[trace.SpanID]sdktrace.ReadWriteSpan)
	if theirs {
		opts := []sdktrace.TracerProviderOption{
			sdktrace.WithResource(programResource), sdktrace.WithSampler(sampler),
			sdktrace.WithIDGenerator(s), sdktrace.WithRawSpanLimits(limits),
		}
		for i := range processors {
			opts = append(opts, sdktrace.WithSpanProcessor(observer{s, i == 0}))
		}
		s.provider = sdktrace.NewTracerProvider(opts...)
	} else {
		all := make([]sdktrace.SpanProcessor, processors)
		for i := range all {
			all[i] = observer{s, i == 0}
		}
		s.provider = record.New(record.Settings{
			Resource: programResource, Sampler: sampler, IDs: s, Limits: limits, Processors: all,
			Sink: func(sp *record.Span) { s.sunk = append(s.sunk, sp.SpanID()) },
		})
	}
	s.tracers = []trace.Tracer{
		s.provider.Tracer("program"),
		s.provider.Tracer("", trace.WithInstrumentationVersion("1.2"), trace.WithSchemaURL("https://schema"), trace.WithInstrumentationAttributes(
			attribute.String("of", "scope"), attribute.Slice("deep", deep(3)))),
	}
}

// runProgram returns what differs.
func runProgram(t *testing.T, data []byte) string {
	setUp := &script{data}
	limit := func() int { return pick(setUp, 128, -1, 0, 1, 2, 3, 5) }
	limits := sdktrace.SpanLimits{
		AttributeValueLengthLimit: pick(setUp, -1, -1, 0, 1, 3, 6), AttributeValueDepthLimit: pick(setUp, 64, -1, 0, 1, 2),
		AttributeCountLimit: limit(), EventCountLimit: limit(), LinkCountLimit: limit(),
		AttributePerEventCountLimit: limit(), AttributePerLinkCountLimit: limit(),
	}
	processors := 1 + setUp.n(2)
	var both [2]*side
	rest := *setUp
	for i := range both {
		own := rest
		both[i] = &side{}
		synctest.Test(t, func(*testing.T) { // each begins at the same time
			both[i].init(i == 1, limits, sampler(&own, both[i]), processors)
			both[i].run(&own)
		})
	}
	ours, theirs := both[0], both[1]
	for i := range max(len(ours.log), len(theirs.log)) {
		if i >= len(ours.log) || i >= len(theirs.log) || ours.log[i] != theirs.log[i] {
			return fmt.Sprintf("step %d of the log\nours %q\nSDK  %q", i, ours.log[min(i, len(ours.log)):min(i+3, len(ours.log))], theirs.log[min(i, len(theirs.log)):min(i+3, len(theirs.log))])
		}
	}
	for i := range max(len(ours.views), len(theirs.views)) {
		if i >= len(ours.views) || i >= len(theirs.views) || !reflect.DeepEqual(ours.views[i], theirs.views[i]) {
			return fmt.Sprintf("view %d\nours %+v\nSDK  %+v", i, ours.views[min(i, len(ours.views)):min(i+1, len(ours.views))], theirs.views[min(i, len(theirs.views)):min(i+1, len(theirs.views))])
		}
	}
	if diff := bytesDiffer(t, ours, theirs); diff != "" {
		return diff
	}
	return ours.checkCounts()
}

// bytesDiffer compares the requests for what was sampled.
func bytesDiffer(t *testing.T, ours, theirs *side) string {
	own := make([]*record.Span, len(ours.sampled))
	for i, s := range ours.sampled {
		own[i] = s.(*record.Span)
	}
	got := marshalled(t, &collector.ExportTraceServiceRequest{ResourceSpans: encode(newBatch(nil), own)})
	wanted := upstreamRequest(t, theirs.sampled)
	want := marshalled(t, wanted)
	if bytes.Equal(got, want) {
		return ""
	}
	var sent collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(got, &sent); err != nil {
		return fmt.Sprintf("the bytes are not a request: %v", err)
	}
	if ours.stacks {
		if withoutStacks(&sent) == withoutStacks(wanted) && bytes.Equal(marshalled(t, &sent), marshalled(t, wanted)) {
			return ""
		}
	}
	return fmt.Sprintf("bytes\nours %s\nSDK  %s", prototext.Format(&sent), prototext.Format(wanted))
}

// withoutStacks takes the texts of stacks out and returns how many there were.
func withoutStacks(r *collector.ExportTraceServiceRequest) (n int) {
	for _, rs := range r.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				for _, e := range s.Events {
					for _, kv := range e.Attributes {
						if kv.Key == semconvStack {
							kv.Value = nil
							n++
						}
					}
				}
			}
		}
	}
	return n
}

// checkCounts compares the recorder's own numbers with what happened.
func (s *side) checkCounts() string {
	p := s.provider.(*record.Provider)
	started, ended, sampled := 0, 0, 0
	counted := make(map[*record.Span]bool)
	for _, v := range s.seen {
		sp, ok := v.span.(*record.Span)
		if !ok || counted[sp] {
			continue
		}
		counted[sp] = true
		started++
		if !sp.IsRecording() {
			ended++
			if sp.SpanContext().IsSampled() {
				sampled++
			}
		}
	}
	if int(p.Started()) != started || int(p.Ended()) != ended || p.Open() != started-ended || len(p.OpenSpans()) != started-ended || len(s.sunk) != sampled {
		return fmt.Sprintf("counts: started %d ended %d open %d sunk %d, want %d %d %d %d",
			p.Started(), p.Ended(), p.Open(), len(s.sunk), started, ended, started-ended, sampled)
	}
	return ""
}

type programKey struct{}

func (s *side) run(script *script) {
	remoteState, _ := trace.ParseTraceState("vendor=1,other=2")
	span := func(t, id byte, flags trace.TraceFlags, state trace.TraceState) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{15: t}, SpanID: trace.SpanID{id}, TraceFlags: flags, TraceState: state, Remote: true})
	}
	roots := []context.Context{
		context.Background(), context.WithValue(context.Background(), programKey{}, "kept"), nil,
		trace.ContextWithRemoteSpanContext(context.Background(), span(1, 1, 1, remoteState)),
		trace.ContextWithRemoteSpanContext(context.Background(), span(2, 1, 0, trace.TraceState{})),
		trace.ContextWithRemoteSpanContext(context.Background(), span(3, 0, 3, trace.TraceState{})),
		trace.ContextWithSpanContext(context.Background(), span(0, 4, 1, remoteState)),
		trace.ContextWithSpanContext(context.Background(), span(5, 4, 255, remoteState)),
	}
	for !script.done() {
		if len(s.seen) == 0 || script.chance(5) {
			ctx := roots[script.n(len(roots))]
			if len(s.seen) > 0 && script.n(3) > 0 {
				ctx = s.seen[script.n(len(s.seen))].ctx
			}
			s.start(script, ctx)
			continue
		}
		s.step(script, s.seen[script.n(len(s.seen))].span)
	}
	for _, v := range s.seen {
		s.note("at the end", v.span)
		if script.n(2) == 0 {
			if rw, ok := v.span.(sdktrace.ReadOnlySpan); ok {
				view := viewOf(rw)
				view.Recording = v.span.IsRecording()
				s.views = append(s.views, view)
			}
		}
	}
}

func (s *side) note(what string, span trace.Span) {
	s.log = append(s.log, fmt.Sprint(what, " ", contextText(span.SpanContext()), span.IsRecording(), span.TracerProvider() == s.provider))
}

func (s *side) start(script *script, ctx context.Context) {
	var opts []trace.SpanStartOption
	if script.n(3) > 0 {
		opts = append(opts, trace.WithAttributes(attrs(script)...))
	}
	if script.chance(4) {
		opts = append(opts, trace.WithAttributes(attrs(script)...))
	}
	if script.chance(3) {
		opts = append(opts, trace.WithSpanKind(trace.SpanKind(script.n(8))))
	}
	if script.chance(3) {
		start := timestamp(script)
		if start.Year() > 2300 {
			start = start.AddDate(-400, 0, 0)
		}
		opts = append(opts, trace.WithTimestamp(start))
	}
	for range script.n(3) {
		opts = append(opts, trace.WithLinks(link(script)))
	}
	if script.chance(6) {
		opts = append(opts, trace.WithNewRoot())
	}
	started, span := s.tracers[script.n(len(s.tracers))].Start(ctx, text(script), opts...)
	s.seen = append(s.seen, seen{started, span})
	s.note("started", span)
	s.log = append(s.log, fmt.Sprint(contextText(trace.SpanContextFromContext(started)), trace.SpanFromContext(started).IsRecording(), started.Value(programKey{})))
}

// call reads a call of a span's method. The calls of several goroutines give the same
// in any order when each has a span of its own, or when they are equal.
func (s *side) call(script *script) func(trace.Span) {
	switch script.n(10) {
	default:
		all := attrs(script)
		return func(span trace.Span) { span.SetAttributes(all...) }
	case 4, 5:
		name, opts := text(script), eventOptions(script)
		return func(span trace.Span) { span.AddEvent(name, opts...) }
	case 6:
		l := link(script)
		return func(span trace.Span) { span.AddLink(l) }
	case 7:
		opts := eventOptions(script)
		if script.chance(2) {
			opts = append(opts, trace.WithStackTrace(true))
			s.stacks = true
		}
		err := pick(script, nil, errProgram, fmt.Errorf("wrapped %w", errProgram), error(ownError{}), error(&ownError{}))
		return func(span trace.Span) { span.RecordError(err, opts...) }
	case 8:
		code, description := pick(script, codes.Unset, codes.Error, codes.Ok, codes.Code(7)), text(script)
		return func(span trace.Span) { span.SetStatus(code, description) }
	case 9:
		name := text(script)
		return func(span trace.Span) { span.SetName(name) }
	}
}

// together makes calls from several goroutines at the same time.
func (s *side) together(script *script, span trace.Span) {
	var wg sync.WaitGroup
	defer wg.Wait()
	if script.n(2) == 0 {
		call := s.call(script)
		for range 2 + script.n(3) {
			wg.Go(func() { call(span) })
		}
		return
	}
	used := map[trace.SpanID]bool{}
	for range 2 + script.n(3) {
		own, call := s.seen[script.n(len(s.seen))].span, s.call(script)
		if id := own.SpanContext().SpanID(); !used[id] {
			used[id] = true
			wg.Go(func() { call(own) })
		}
	}
}

func (s *side) step(script *script, span trace.Span) {
	switch script.n(11) {
	default:
		s.call(script)(span)
	case 4, 5:
		var opts []trace.SpanEndOption
		if script.chance(2) {
			opts = append(opts, trace.WithTimestamp(timestamp(script)))
		}
		if script.chance(4) {
			opts = append(opts, trace.WithStackTrace(true))
			s.stacks = true
		}
		if script.chance(6) {
			s.endPanicking(span, opts)
		} else {
			span.End(opts...)
		}
	case 6:
		s.log = append(s.log, fmt.Sprint(s.provider.ForceFlush(context.Background())))
	case 7:
		// So that children are started from a span that the context does not carry itself.
		s.seen = append(s.seen, seen{trace.ContextWithSpan(context.WithValue(context.Background(), programKey{}, 2), span), span})
	case 8:
		if script.chance(8) {
			s.log = append(s.log, fmt.Sprint(s.provider.Shutdown(context.Background())))
			_, after := s.provider.Tracer("after").Start(context.Background(), "after")
			s.log = append(s.log, fmt.Sprint(after.IsRecording(), contextText(after.SpanContext())))
		}
	case 9:
		time.Sleep(time.Duration(script.n(250)) * 7 * time.Millisecond)
	case 10:
		s.together(script, span)
	}
	s.note("", span)
}

func (s *side) endPanicking(span trace.Span, opts []trace.SpanEndOption) {
	defer func() { s.log = append(s.log, fmt.Sprint("panic ", recover())) }()
	defer span.End(opts...)
	panic("on purpose")
}

type ownError struct{}

func (ownError) Error() string { return "own error" }

func eventOptions(script *script) []trace.EventOption {
	var opts []trace.EventOption
	for range script.n(3) {
		opts = append(opts, trace.WithAttributes(attrs(script)...))
	}
	if script.chance(2) {
		opts = append(opts, trace.WithTimestamp(timestamp(script)))
	}
	return opts
}

func link(script *script) trace.Link {
	state, _ := trace.ParseTraceState("linked=1")
	var attributes []attribute.KeyValue
	if script.chance(2) {
		attributes = attrs(script)
	}
	return trace.Link{SpanContext: pick(script, trace.SpanContext{}, linked, linked.WithRemote(false), trace.SpanContext{}.WithTraceState(state), linked.WithTraceState(state)),
		Attributes: attributes}
}

func timestamp(script *script) time.Time {
	t := pick(script, time.Unix(1e9, 123456789), time.Unix(1.5e9, 1), time.Time{}, time.Unix(0, 0), time.Unix(-1, 5),
		time.Date(2500, 1, 2, 3, 4, 5, 6, time.Local), time.Date(1999, 1, 2, 3, 4, 5, 6, time.Local), time.Now())
	switch script.n(4) {
	case 0:
		return t.UTC()
	case 1:
		return t.In(time.FixedZone("there", 5400))
	}
	return t
}

func text(script *script) string {
	return pick(script, "", "a", "ab", "step", "train.step", "größer", "\xff\xfe", "a\xffbcdef", "\xf0\x9f\x98\x80 smile", "x\ufffdyz12345",
		strings.Repeat("long ", 50), "\x80\x80abc", "nul\x00")
}

func attrs(script *script) []attribute.KeyValue {
	var all []attribute.KeyValue
	n := script.n(6)
	if script.chance(20) {
		n = 70 // enough for the map
	}
	for i := range n {
		key := attribute.Key(pick(script, "a", "b", "c", "d", "e", "f", "", "g\xff", "k"))
		if n > 20 {
			key += attribute.Key(fmt.Sprint(i % 60))
		}
		all = append(all, attribute.KeyValue{Key: key, Value: value(script, 3)})
	}
	return all
}

func deep(n int) attribute.Value {
	if n == 0 {
		return attribute.StringSliceValue([]string{"bottom", "x"})
	}
	return attribute.MapValue(attribute.KeyValue{Key: "m", Value: deep(n - 1)}, attribute.KeyValue{Key: "m", Value: attribute.SliceValue(deep(n-1), attribute.IntValue(n))})
}

func value(script *script, depth int) attribute.Value {
	kinds := 14
	if depth == 0 {
		kinds = 11
	}
	switch script.n(kinds) {
	case 0:
		return attribute.IntValue(script.n(9))
	case 1:
		return attribute.BoolValue(script.n(2) == 0)
	case 2:
		return attribute.Float64Value(pick(script, 1.5, math.NaN(), math.Inf(1), math.Copysign(0, -1)))
	case 3:
		return attribute.StringValue(text(script))
	case 4:
		return attribute.Value{}
	case 5:
		return attribute.BoolSliceValue([]bool{true, false})
	case 6:
		return attribute.Int64SliceValue([]int64{1, math.MinInt64})
	case 7:
		return attribute.Float64SliceValue([]float64{math.Inf(-1)})
	case 8, 9:
		texts := make([]string, script.n(6))
		for i := range texts {
			texts[i] = text(script)
		}
		return attribute.StringSliceValue(texts)
	case 10:
		return attribute.ByteSliceValue([]byte(text(script)))
	case 11, 12:
		members := make([]attribute.Value, script.n(7))
		for i := range members {
			members[i] = value(script, depth-1)
		}
		return attribute.SliceValue(members...)
	}
	members := make([]attribute.KeyValue, script.n(7))
	for i := range members {
		members[i] = attribute.KeyValue{Key: attribute.Key(pick(script, "x", "y", "", "z")), Value: value(script, depth-1)}
	}
	return attribute.MapValue(members...)
}
