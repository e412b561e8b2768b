//go:build !lens_noop

package lens_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
)

// The usual site: a span of a group, ended with the error of the function.
func ExampleManagedSpan() {
	defer printSpans(lens.Job, lens.Step)()

	step := func(ctx context.Context, i int) (err error) {
		ctx, span := lens.ManagedSpan(ctx, lens.Step, "train.step", attribute.Int("dl.iteration", i))
		defer lens.End(span, &err)

		_, inner := lens.ManagedSpan(ctx, lens.Optimizer, "optimizer") // is off: nothing happens
		defer lens.End(inner, nil)
		if i == 2 {
			return errors.New("loss is NaN")
		}
		return nil
	}

	ctx, job := lens.ManagedSpan(context.Background(), lens.Job, "train")
	for i := 1; step(ctx, i) == nil; i++ {
	}
	lens.End(job, nil)
	// Output:
	// train
	//   train.step dl.iteration=1
	//   train.step dl.iteration=2 ! loss is NaN
}

// The context of every iteration is a new one: "ctx, span :=" inside the body.
// With "=" each span would be the child of the one before, and the contexts of
// all iterations would be kept. The command lensvet finds such loops.
func ExampleManagedSpan_loop() {
	defer printSpans(lens.Job, lens.Step)()

	ctx, job := lens.ManagedSpan(context.Background(), lens.Job, "train")
	for range 3 {
		ctx, span := lens.ManagedSpan(ctx, lens.Step, "step")
		forward(ctx)
		lens.End(span, nil)
	}
	lens.End(job, nil)
	// Output:
	// train
	//   step
	//   step
	//   step
}

func forward(context.Context) {}

// Kind, links, start time and attributes that a sampler has to see.
func ExampleManagedSpanWith() {
	defer printSpans("batch")()

	queued := time.Now().Add(-time.Second)
	_, span := lens.ManagedSpanWith(context.Background(), "batch", "batch",
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithTimestamp(queued),
		trace.WithAttributes(attribute.Int("batch.size", 32)))
	lens.End(span, nil)
	// Output: batch batch.size=32
}

// A span that every run should have, whatever groups are on.
func ExampleSpanCM() {
	defer printSpans()()

	_, span := lens.SpanCM(context.Background(), "release", attribute.String("model", "llama-8b"))
	lens.End(span, nil)
	// Output: release model=llama-8b
}

// A panic passes End unchanged. It is recorded once, and every span that it
// passes through ends as an error.
func ExampleEnd() {
	defer printSpans(lens.Job, lens.Checkpoint)()

	save := func(ctx context.Context) (err error) {
		_, span := lens.ManagedSpan(ctx, lens.Checkpoint, "save")
		defer lens.End(span, &err)
		panic("disk is full")
	}
	defer func() { fmt.Println("recovered:", recover()) }()
	ctx, job := lens.ManagedSpan(context.Background(), lens.Job, "train")
	defer lens.End(job, nil)
	_ = save(ctx)
	// Output:
	// recovered: disk is full
	// train ! disk is full
	//   save ! disk is full
}

// A function is wrapped once, and the gate is asked at each call.
func ExampleTraceFn() {
	defer printSpans(lens.Evaluate)()

	score := lens.TraceFn(lens.Evaluate, "score", func(_ context.Context, answer string) (float64, error) {
		if answer == "" {
			return 0, errors.New("no answer")
		}
		return 1, nil
	})
	fmt.Println(score(context.Background(), "42"))
	fmt.Println(score(context.Background(), ""))
	// Output:
	// 1 <nil>
	// 0 no answer
	// score
	// score ! no answer
}

func ExampleTraceErrFn() {
	defer printSpans(lens.LoadCheckpoint)()

	load := lens.TraceErrFn(lens.LoadCheckpoint, "load", func(context.Context) error {
		return errors.New("checkpoint 900 is cut short")
	})
	fmt.Println(load(context.Background()))
	// Output:
	// checkpoint 900 is cut short
	// load ! checkpoint 900 is cut short
}

// A stage that a queue or another process has timed.
func ExampleEmitSpan() {
	defer printSpans("rollout")()

	ctx, rollout := lens.ManagedSpan(context.Background(), "rollout", "rollout")
	queued := time.Now()
	started := queued.Add(40 * time.Millisecond)
	if _, err := lens.EmitSpan(ctx, "rollout", "rollout.queue", queued, started, attribute.Int("queue.length", 3)); err != nil {
		fmt.Println(err)
	}
	lens.End(rollout, nil)

	_, err := lens.EmitSpan(ctx, "rollout", "backwards", started, queued.Add(-time.Second))
	fmt.Println(err != nil)
	// Output:
	// true
	// rollout
	//   rollout.queue queue.length=3
}

// What happens before main, loading the binary and initialising packages, as a
// span of its own. Only Linux knows when that began.
func ExampleProcessStartTime() {
	defer printSpans("startup")()

	born, err := lens.ProcessStartTime()
	if errors.Is(err, errors.ErrUnsupported) {
		born = time.Now()
	}
	_, err = lens.EmitSpan(context.Background(), "startup", "before main", born, time.Now())
	fmt.Println(err)
	// Output:
	// <nil>
	// before main
}

// A batch belongs to no single request: it links to each that it was made of.
func ExampleLinkedSpan() {
	spans := tracetest.NewInMemoryExporter()
	h := setUp(lens.WithSpanProcessor(sdktrace.NewSimpleSpanProcessor(spans)))
	defer shutDown(h)

	_, request := lens.SpanCM(context.Background(), "request")
	queued := request.SpanContext() // put in the queue beside the request
	lens.End(request, nil)

	_, batch := lens.LinkedSpan(context.Background(), "batch", queued, attribute.Int("batch.size", 1))
	lens.End(batch, nil)

	recorded := spans.GetSpans()[1]
	fmt.Println(recorded.Name, "links to", len(recorded.Links), "span:", recorded.Links[0].SpanContext.Equal(queued))
	fmt.Println("in a trace of its own:", recorded.SpanContext.TraceID() != queued.TraceID())
	// Output:
	// batch links to 1 span: true
	// in a trace of its own: true
}

// A checkpoint is uploaded in the trace of the step that made it, and goes on
// when that step is cancelled.
func ExampleDetach() {
	defer printSpans(lens.Step, lens.Checkpoint)()

	ctx, cancel := context.WithCancel(context.Background())
	ctx, step := lens.ManagedSpan(ctx, lens.Step, "step")
	upload := lens.Detach(ctx)
	lens.End(step, nil)
	cancel()

	_, span := lens.ManagedSpan(upload, lens.Checkpoint, "upload")
	fmt.Println(ctx.Err(), upload.Err())
	lens.End(span, nil)
	// Output:
	// context canceled <nil>
	// step
	//   upload
}

// Every span of a rollout says which rollout it is, also those that libraries
// start.
func ExampleWithSpanAttributes() {
	defer printSpans("rollout", "verify")()

	ctx := lens.WithSpanAttributes(context.Background(), attribute.String("rollout.id", "r-17"))
	ctx, rollout := lens.ManagedSpan(ctx, "rollout", "rollout")
	_, verify := lens.ManagedSpan(ctx, "verify", "verify", attribute.Float64("reward", 0.5))
	lens.End(verify, nil)
	lens.End(rollout, nil)
	// Output:
	// rollout rollout.id=r-17
	//   verify reward=0.5 rollout.id=r-17
}

// Spans of one part of a program go to a provider of its own.
func ExampleWithTracer() {
	defer printSpans(lens.Evaluate)()

	audit := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(audit))
	ctx := lens.WithTracer(context.Background(), provider.Tracer("audit"))
	for _, ctx := range []context.Context{ctx, context.Background()} {
		_, span := lens.ManagedSpan(ctx, lens.Evaluate, "evaluate")
		lens.End(span, nil)
	}
	fmt.Println("audited:", len(audit.Ended()))
	// Output:
	// audited: 1
	// evaluate
}

// Code written for OpenTelemetry takes lens's tracer. It is not gated.
func ExampleTracer() {
	defer printSpans()()

	_, span := lens.Tracer().Start(context.Background(), "tokenize")
	span.End()
	// Output: tokenize
}

// Instrumentation libraries get a provider, and their spans obey the group.
func ExampleGroupTracerProvider() {
	defer printSpans()()

	queries := lens.GroupTracerProvider("sql").Tracer("example.com/sqltrace")
	for _, groups := range [][]lens.SpanGroup{{"sql"}, {}} {
		lens.SetEnabledSpanGroups(groups...)
		_, span := queries.Start(context.Background(), "SELECT samples")
		fmt.Println(groups, span.IsRecording())
		span.End()
	}
	// Output:
	// [sql] true
	// [] false
	// SELECT samples
}

// Attributes from a configuration file or a JSON body: what cannot be set is
// passed over, and secrets are not recorded.
func ExampleSafeSetSpanAttributes() {
	defer printSpans(lens.Job)()

	_, span := lens.ManagedSpan(context.Background(), lens.Job, "train")
	lens.SafeSetSpanAttributes(span, map[string]any{
		"batch_size": 512,
		"betas":      []any{0.9, 0.95},
		"password":   "hunter2",
		"scheduler":  nil,
		"callback":   func() {},
	})
	lens.End(span, nil)
	// Output: train batch_size=512 betas=[0.9,0.95] password=[REDACTED]
}
