package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.uber.org/goleak"
)

// The first otel.SetErrorHandler of a process has an effect that nothing takes
// back, so each scenario gets a process of its own.
var scenarios = map[string]func(){
	"default":   childDefault,
	"two":       childTwoSetUps,
	"user":      childUserHandler,
	"chained":   childChained,
	"nested":    childNested,
	"cached":    childCached,
	"recursion": childRecursion,
	"parallel":  childParallel,
}

const childEnv = "ERRLOG_TEST_SCENARIO"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		log.SetFlags(0)
		scenarios[name]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func inChild(t *testing.T, scenario string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+scenario)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("scenario %s: %v\n%s%.4000s", scenario, err, out.String(), errOut.String())
	}
	return out.String(), errOut.String()
}

// TestGlobalHandler reads what each scenario printed: "log name: text" is a line
// of that set-up's logger, "user: text" one of the program's own handler, and
// standard error is OpenTelemetry's default.
func TestGlobalHandler(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ stdout, stderr string }{
		"two": {"log 1: first\nlog 2: second\n", "after both\nthrough the delegator\n"},
		"user": {"log 1: token=[REDACTED]\nuser: token=[REDACTED] EOF is EOF: true\nuser: panic\n" +
			"log 1: lens: the application's OpenTelemetry error handler panicked\nuser: after\n", ""},
		"chained":   {"outer: x\nlog 1: x\nuser: x\nouter: left alone\nuser: left alone\nlog 2: y\nouter: y\nuser: y\n", ""},
		"nested":    {"log 2: a\nuser: a\nlog 2: b\nuser: b\nuser: c\nlog 4: d\nuser: d\nlog 3: e\nuser: e\nuser: f\n", ""},
		"cached":    {"log 1: one\nlog 2: two\n", "between\nend\n"},
		"recursion": {"log 2: x\nouter: x\nlog 2: y\nouter: y\n", ""},
		"parallel":  {"ok\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr := inChild(t, name)
			if stdout != want.stdout || stderr != want.stderr {
				t.Errorf("got stdout\n%s\nstderr\n%s\nwant stdout\n%s\nstderr\n%s", stdout, stderr, want.stdout, want.stderr)
			}
		})
	}
}

// printer is a logger that prints the error of each record.
type printer struct{ name string }

func (p printer) Enabled(context.Context, slog.Level) bool { return true }
func (p printer) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p printer) WithGroup(string) slog.Handler            { return p }
func (p printer) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			text = strings.TrimSuffix(a.Value.String(), " EOF")
		}
		return true
	})
	fmt.Printf("log %s: %s\n", p.name, text)
	return nil
}

func logger(name string) *Log { return New(slog.New(printer{name})) }

func say(s string) { otel.Handle(errors.New(s)) }

type userHandler struct {
	name string
	next otel.ErrorHandler
}

func (u userHandler) Handle(err error) {
	fmt.Printf("%s: %v\n", u.name, err)
	if u.next != nil {
		u.next.Handle(err)
	}
}

func childTwoSetUps() {
	delegator := otel.GetErrorHandler()
	restore := logger("1").Install()
	say("first")
	restore()
	restore()
	restore = logger("2").Install()
	say("second")
	restore()
	say("after both")
	delegator.Handle(errors.New("through the delegator"))
}

func childUserHandler() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if errors.Is(err, io.EOF) {
			fmt.Printf("user: %v is EOF: true\n", err)
			return
		}
		fmt.Printf("user: %v\n", err)
		if err.Error() == "panic" {
			panic("boom")
		}
	}))
	restore := New(slog.New(onlyNew{printer{"1"}})).Install()
	otel.Handle(nil)
	otel.Handle(fmt.Errorf("token=abc: %w", io.EOF))
	say("panic")
	restore()
	say("after")
}

// onlyNew leaves out the line about the error that makes the program's handler
// panic.
type onlyNew struct{ printer }

func (p onlyNew) Handle(ctx context.Context, r slog.Record) error {
	skip := false
	r.Attrs(func(a slog.Attr) bool { skip = skip || a.Value.String() == "panic"; return true })
	if skip {
		return nil
	}
	return p.printer.Handle(ctx, r)
}

// childChained wraps our handler the way programs do, which with a handler that
// forwards to the previous one would go round for ever in a second set-up.
func childChained() {
	otel.SetErrorHandler(userHandler{name: "user"})
	restore := logger("1").Install()
	otel.SetErrorHandler(userHandler{"outer", otel.GetErrorHandler()})
	say("x")
	restore()
	say("left alone")
	restore = logger("2").Install()
	say("y")
	restore()
}

// childNested installs twice without a shutdown between, and gives up in both
// orders.
func childNested() {
	otel.SetErrorHandler(userHandler{name: "user"})
	first := logger("1").Install()
	second := logger("2").Install()
	say("a")
	first()
	say("b")
	second()
	say("c")
	first = logger("3").Install()
	second = logger("4").Install()
	say("d")
	second()
	say("e")
	first()
	say("f")
}

// childCached reports through a handler taken before the first set-up, as a
// component does that was made at init time.
func childCached() {
	cached := otel.GetErrorHandler()
	for i, text := range []string{"one", "two"} {
		restore := logger(fmt.Sprint(i + 1)).Install()
		cached.Handle(errors.New(text))
		restore()
		if i == 0 {
			cached.Handle(errors.New("between"))
		}
	}
	cached.Handle(errors.New("end"))
}

// childRecursion builds a loop: the program's handler passes errors on to the
// delegating object, which forwards to our first handler, long restored, and from
// there to the active one, which calls the program's handler.
func childRecursion() {
	cached := otel.GetErrorHandler()
	restore := logger("1").Install()
	restore()
	otel.SetErrorHandler(userHandler{"outer", cached})
	restore = logger("2").Install()
	say("x")
	say("y")
	restore()
}

func childParallel() {
	var user sync.Map
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { user.Store(err.Error(), true) }))
	restore := New(slog.New(slog.DiscardHandler)).Install()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				say(fmt.Sprint(i, " ", j))
			}
		})
	}
	wg.Wait()
	restore()
	n := 0
	user.Range(func(any, any) bool { n++; return true })
	if n != 800 {
		fmt.Println("the user's handler saw", n, "of 800 errors")
		return
	}
	fmt.Println("ok")
}

func TestDelegatorIsRecognised(t *testing.T) {
	t.Parallel()
	// Nothing in this process has set a handler: the scenarios have their own.
	if h := otel.GetErrorHandler(); !isDelegator(h) {
		t.Errorf("%T is not recognised: a new OpenTelemetry release moved it", h)
	}
	for _, h := range []otel.ErrorHandler{nil, userHandler{}, &handler{}, otel.ErrorHandlerFunc(func(error) {})} {
		if isDelegator(h) {
			t.Errorf("%T is taken for the delegator", h)
		}
	}
}
