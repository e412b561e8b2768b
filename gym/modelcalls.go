package gym

import (
	"context"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/felixge/httpsnoop"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/record/errtype"
	"github.com/nemo-lens/lens/internal/web/served"
	"github.com/nemo-lens/lens/semconv"
)

// ModelDialect is the interface through which a model is called. Anything but
// the constants counts as "unknown".
type ModelDialect string

// The dialects.
const (
	DialectChatCompletions ModelDialect = "chat_completions"
	DialectResponses       ModelDialect = "responses"
	DialectMessages        ModelDialect = "messages"
	DialectUnknown         ModelDialect = labelUnknown
)

// ModelOutcome is what became of a call. Anything but the constants counts as
// [ModelError].
type ModelOutcome string

// The outcomes of calls; all but the first are categories of errors.
const (
	ModelOK          ModelOutcome = "ok"
	ModelTimeout     ModelOutcome = "timeout"      // 408, 504, or a deadline
	ModelRateLimited ModelOutcome = "rate_limited" // 429
	ModelClientError ModelOutcome = "client_error" // any other answer from 400
	ModelServerError ModelOutcome = "server_error" // any other answer from 500
	ModelCanceled    ModelOutcome = "canceled"     // nobody waits for the answer any more
	ModelError       ModelOutcome = "error"        // no answer, or a panic
)

// TokenType says what tokens are. Anything but the constants is not recorded.
type TokenType string

// The types of tokens.
const (
	TokensInput     TokenType = "input"
	TokensOutput    TokenType = "output"
	TokensReasoning TokenType = "reasoning"
)

// The attributes of the metrics of calls, beside nemo.gym.server.name and
// nemo.gym.model_call.dialect.
const (
	ModelOutcomeKey = attribute.Key("nemo.gym.model_call.outcome")
	TokenTypeKey    = attribute.Key("nemo.gym.model_call.token.type")
	FinishReasonKey = attribute.Key("nemo.gym.model_call.finish_reason")
)

// finishReasons come from the model, so that they are bounded.
var finishReasons labels

// ModelCallRecorder measures one call of a model, for these metrics:
//
//   - gym.model_call.duration_ms, by outcome
//   - gym.model_call.ttft_ms, of a streamed answer
//   - gym.model_call.tokens, by type, as far as the model reports them
//   - gym.model_call.finish_total, by the reason for the end of the answer, in
//     the dialect's own words
//
// All have the name of the server and the dialect, "unknown" where there is
// none. Prompts and answers are never recorded.
//
// A nil recorder is one that is off. The methods are safe for concurrent use,
// and do nothing after [ModelCallRecorder.End].
type ModelCallRecorder struct {
	ctx       context.Context
	telemetry *telemetry
	began     time.Time
	base      [2]attribute.KeyValue

	mu      sync.Mutex
	ended   bool
	first   time.Duration // 0: no piece of a streamed answer yet
	told    bool          // by the handler, which knows better than streamed
	tokens  [3]tokenCount
	outcome ModelOutcome
}

type tokenCount struct {
	n        int64
	reported bool
}

var tokenTypes = [3]TokenType{TokensInput, TokensOutput, TokensReasoning}

// BeginModelCall starts to measure a call of a model, and returns nil while
// metrics are not exported or the group [ModelCall] is off. End it with
// [ModelCallRecorder.End]. The points belong to the span of ctx.
//
// It is for calls that are not requests to [TracedModelCall], which measures by
// itself: see [ModelCallFrom].
func BeginModelCall(ctx context.Context, dialect ModelDialect) *ModelCallRecorder {
	if !lens.IsSpanGroupEnabled(ModelCall) {
		return nil
	}
	t := telemetryState.current.Load()
	if !t.metricsActive() {
		return nil
	}
	return newModelCall(ctx, t, dialect)
}

func newModelCall(ctx context.Context, t *telemetry, dialect ModelDialect) *ModelCallRecorder {
	switch dialect {
	case DialectChatCompletions, DialectResponses, DialectMessages:
	default:
		dialect = DialectUnknown
	}
	server := t.serverName
	if server == "" {
		server = labelUnknown
	}
	return &ModelCallRecorder{ctx: noCancel(ctx), telemetry: t, began: time.Now(), base: [2]attribute.KeyValue{
		semconv.NeMoGymServerNameKey.String(server), semconv.NeMoGymModelCallDialectKey.String(string(dialect)),
	}}
}

type modelCallKey struct{}

// ModelCallFrom returns the recorder of the request that a handler inside
// [TracedModelCall] serves, so that it can tell tokens and finish reasons. It
// is nil when nothing is measured. The handler does not end it.
func ModelCallFrom(ctx context.Context) *ModelCallRecorder {
	c, _ := ctx.Value(modelCallKey{}).(*ModelCallRecorder)
	return c
}

// FirstToken says that the first piece of a streamed answer has come. Only the
// first call counts, in place of what [TracedModelCall] has seen.
func (c *ModelCallRecorder) FirstToken() {
	if c != nil {
		c.firstToken(true)
	}
}

// streamed is FirstToken as far as it can be seen from outside.
func (c *ModelCallRecorder) streamed() { c.firstToken(false) }

func (c *ModelCallRecorder) firstToken(told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.told || !told && c.first > 0 {
		return
	}
	c.first, c.told = max(time.Since(c.began), 1), told
}

// Tokens says how many tokens the model reports. The last call for a type
// counts, because streams report running totals. Less than 0 is ignored.
func (c *ModelCallRecorder) Tokens(kind TokenType, n int64) {
	if c == nil || n < 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, t := range tokenTypes {
		if t == kind && !c.ended {
			c.tokens[i] = tokenCount{n, true}
		}
	}
}

// Finish counts one answer that came to an end: each choice, where the model
// was asked for several. Reasons that are not one short word count as "other",
// and so do those after the first 128 of the process.
func (c *ModelCallRecorder) Finish(reason string) {
	if c == nil || reason == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.telemetry.count(func(m *counters) {
		m.finish.Add(c.ctx, 1, c.with(FinishReasonKey.String(finishReasons.of(reason))))
	})
}

// SetOutcome says what became of the call, in place of what End would conclude.
// The last call counts.
func (c *ModelCallRecorder) SetOutcome(o ModelOutcome) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcome = o.bounded()
}

func (o ModelOutcome) bounded() ModelOutcome {
	switch o {
	case ModelOK, ModelTimeout, ModelRateLimited, ModelClientError, ModelServerError, ModelCanceled:
		return o
	}
	return ModelError
}

// End records the call, whose outcome follows from err: nil, a deadline, a
// cancellation, or another error. Only the first call counts.
func (c *ModelCallRecorder) End(err error) {
	if c != nil {
		c.end(outcomeOf(err))
	}
}

func outcomeOf(err error) ModelOutcome {
	switch {
	case err == nil:
		return ModelOK
	case isTimeout(err):
		return ModelTimeout
	case errtype.Canceled(err):
		return ModelCanceled
	}
	return ModelError
}

// ModelOutcomeOfStatus returns the outcome that a status of HTTP stands for.
func ModelOutcomeOfStatus(status int) ModelOutcome {
	switch {
	case status == http.StatusTooManyRequests:
		return ModelRateLimited
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return ModelTimeout
	case status >= 500:
		return ModelServerError
	case status >= 400:
		return ModelClientError
	}
	return ModelOK
}

func (c *ModelCallRecorder) end(o ModelOutcome) {
	took := time.Since(c.began)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	if c.outcome != "" {
		o = c.outcome
	}
	if !c.telemetry.metricsActive() {
		return
	}
	c.telemetry.count(func(m *counters) {
		m.duration.Record(c.ctx, milliseconds(took), c.with(ModelOutcomeKey.String(string(o))))
		if c.first > 0 {
			m.ttft.Record(c.ctx, milliseconds(c.first), c.with())
		}
		for i, n := range c.tokens {
			if n.reported {
				m.tokens.Record(c.ctx, n.n, c.with(TokenTypeKey.String(string(tokenTypes[i]))))
			}
		}
	})
}

func (c *ModelCallRecorder) with(more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(more, c.base[:]...)...))
}

// TracedModelCall is [TracedEndpoint] for a model server's routes, group
// [ModelCall]. The span's name is one of [SpanModelChatCompletions],
// [SpanModelResponses] and [SpanModelMessages], from which the dialect follows.
//
// While metrics are exported as well, every request is in
// gym.model_call.duration_ms, with the outcome that its status stands for, and
// an answer of server-sent events is in gym.model_call.ttft_ms, as of its first
// line of data or of the handler's own [ModelCallRecorder.FirstToken]. Tokens and finish reasons are the handler's to tell, see
// [ModelCallFrom].
func TracedModelCall(spanName string, h http.Handler) http.Handler {
	return TracedEndpoint(ModelCall, spanName, &modelEndpoint{next: h, dialect: dialectOf(spanName)})
}

func dialectOf(spanName string) ModelDialect {
	switch spanName {
	case SpanModelChatCompletions:
		return DialectChatCompletions
	case SpanModelResponses:
		return DialectResponses
	case SpanModelMessages:
		return DialectMessages
	}
	return DialectUnknown
}

// modelEndpoint measures inside the span.
type modelEndpoint struct {
	next    http.Handler
	dialect ModelDialect
}

func (e *modelEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c := BeginModelCall(r.Context(), e.dialect); c != nil {
		e.measure(c, w, r)
		return
	}
	e.next.ServeHTTP(w, r)
}

func (e *modelEndpoint) measure(c *ModelCallRecorder, w http.ResponseWriter, r *http.Request) {
	answer, returned := served.NewAnswer(r.Context()), false
	defer func() {
		if returned {
			answer.Settle(w)
		}
		gone, status := r.Context().Err(), answer.Status()
		switch {
		case gone != nil && (!returned || status == 0):
			c.end(outcomeOf(gone))
		case !returned:
			c.end(ModelError)
		case answer.Unsent():
			c.end(ModelCanceled)
		default:
			c.end(ModelOutcomeOfStatus(status))
		}
	}()
	inner := r.WithContext(context.WithValue(r.Context(), modelCallKey{}, c))
	serveInner(e.next, streamWriter(answer.Track(w, w), c), r, inner)
	returned = true
}

// streamWriter notes the first event of an answer of server-sent events. It has
// the optional interfaces of w.
func streamWriter(w http.ResponseWriter, c *ModelCallRecorder) http.ResponseWriter {
	var events firstData
	seen := false
	written := func(p []byte) {
		if !seen && len(p) > 0 {
			seen = !isEventStream(w.Header())
		}
		if !seen && events.in(p) {
			seen = true
			c.streamed()
		}
	}
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(p []byte) (int, error) {
				written(p)
				return next(p)
			}
		},
		WriteString: func(next httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(text string) (int, error) {
				if !seen {
					written([]byte(text))
				}
				return next(text)
			}
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) {
				if !seen && isEventStream(w.Header()) { // others keep what makes copying fast
					src = notingReader{src, written}
				}
				return next(src)
			}
		},
	})
}

// firstData finds the first line of data in a stream of events, which may come
// in any pieces. Comments, which keep a connection alive, and the other fields
// of an event are none.
type firstData struct {
	n     int  // how much of dataField the line begins with
	other bool // the line is another one
}

const dataField = "data:"

func (f *firstData) in(p []byte) bool {
	for _, c := range p {
		switch {
		case c == '\n' || c == '\r':
			f.n, f.other = 0, false
		case f.other:
		case c != dataField[f.n]:
			f.other = true
		default:
			if f.n++; f.n == len(dataField) {
				return true
			}
		}
	}
	return false
}

type notingReader struct {
	io.Reader
	note func([]byte)
}

func (r notingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.note(p[:n])
	return n, err
}

func isEventStream(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && t == "text/event-stream"
}
