// Package lens records what a training or evaluation job is doing, at the level
// of detail that its operators choose, as OpenTelemetry spans.
//
// # Concepts
//
// A [SpanGroup] names one kind of span. A library declares its groups and
// presets in a [GroupClass]; [BaseGroups] has those that every training job
// shares. Operators choose with a spec such as "default,step", usually in the
// variable NEMO_LENS_SPAN_GROUPS. The gate, [IsSpanGroupEnabled], is asked at
// every site before anything is built; a site whose group is off gets its own
// context back and allocates nothing.
//
// # Recipe
//
//	func main() { os.Exit(run()) }
//
//	func run() int {
//		cfg, err := lens.FromEnv("", "", nil)
//		if err != nil {
//			fmt.Fprintln(os.Stderr, err)
//			return 2
//		}
//		handle, err := lens.SetupTelemetry(context.Background(), cfg)
//		if err != nil {
//			fmt.Fprintln(os.Stderr, err)
//			return 2
//		}
//		defer handle.Shutdown(context.Background())
//		return work()
//	}
//
// os.Exit and log.Fatal skip deferred calls, so the exit code is returned from
// a function that has shut telemetry down.
//
// # Which function starts a span
//
//	a piece of work, in a group                     ManagedSpan, and defer End(span, &err)
//	the same with a kind, links or a start time     ManagedSpanWith
//	a function that is to be wrapped                TraceFn, TraceErrFn
//	work that has ended already                     EmitSpan
//	work related to a span that is not its parent   LinkedSpan, which has no group
//	goroutines that are waited for together         NewTaskGroup, TaskGroup.Go
//	a library that takes a trace.TracerProvider     GroupTracerProvider
//	a span that is always wanted, without a group   SpanCM
//	HTTP                                            package lenshttp
//
// # Cost
//
// Off: one atomic load and one probe of a perfect hash. On: one object for the
// span, an entry in the table of open spans, and a place in a queue; ending a span
// never waits for the network.
//
// # Identity
//
// Rank, world size and run id are taken from what the launcher left in the
// environment, unless the application or the operator says otherwise: code beats the
// variables of the operator, and these beat what is found out.
//
// docs/differences.md lists where lens differs from NeMo Lens and NeMo Gym, and
// why.
//
// Build with the tag lens_noop for the same API without the SDK.
//
// Every exported function and method is safe for concurrent use unless it says
// otherwise.
package lens
