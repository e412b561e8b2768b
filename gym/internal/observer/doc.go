// Package observer watches a server process from the inside: how late its goroutines wake, how long they wait for a
// thread, what the garbage collector takes, and what the process uses.
//
//	o, err := observer.Start(meter, observer.Config{})
//	defer o.Stop()
//
//	inFlight, err := observer.NewInFlight(meter)
//	server.Handler = inFlight.Middleware(mux)
//
// One goroutine wakes each second. Everything that need not be followed in between is read when the meter collects.
//
// # What is measured
//
// The reference watches a Python process, of which a Go process shares little. Names are those of the OpenTelemetry
// semantic conventions where these have one, and the reference's otherwise.
//
//	gym.event_loop.lag_ms              histogram, ms   how much later than asked for a sleeping goroutine ran
//	go.schedule.duration               histogram, s    time goroutines were runnable before they ran; see below
//	go.goroutine.count                 up-down counter goroutines
//	gym.event_loop.tasks               gauge           the same number, if [Config.TaskCount] asks for it
//	gym.scheduler.goroutines           gauge           by nemo.gym.scheduler.state: running, runnable, waiting, not_in_go;
//	                                                   if [Config.TaskCount] asks for it
//	go.memory.gc.pause.duration        histogram, s    stop-the-world pauses of the garbage collector
//	go.memory.gc.cycles                counter         its completed cycles
//	process.cpu.time                   counter, s      by cpu.mode: user, system (Unix)
//	process.memory.usage               up-down counter resident bytes (Linux)
//	process.thread.count               up-down counter threads, those of C code too on Linux
//	process.open_file_descriptor.count up-down counter open descriptors (Linux)
//	gym.server.requests.in_flight      up-down counter requests inside [InFlight]
//
// The two histograms of the runtime come from runtime/metrics as counts of buckets. Their growth is replayed into the
// instrument: a duration is known to within its bucket of the runtime (at most an eighth of it off), and so is the sum.
// The runtime itself looks at one scheduling event in eight, and where more than a thousand come in one interval
// they are thinned evenly. So go.schedule.duration has the right shape, and its count is no count of events. The count
// of go.memory.gc.pause.duration is exact short of a thousand pauses an interval.
//
// process.open_file_descriptor.count is the name the conventions had when the reference took it; they have since
// renamed it to process.unix.file_descriptor.count.
//
// # What the reference measures and a Go process has not
//
//   - gym.gc.collections_total and gym.gc.pause_duration_ms, by nemo.gym.gc.generation: Go's collector has no
//     generations. Cycles and pauses have the conventional names above.
//   - gym.gc.collected_total counts unreachable cycles of objects; Go frees everything through its collector, so the
//     number of frees means something else. It is left out.
//   - gym.gc.uncollectable_total and gym.gc.count (objects since the last collection): no such thing in Go.
//   - The resident tasks of an event loop are goroutines here. Counting them is free, where in the reference it costs a
//     millisecond for 16 000; the option remains, so that one configuration serves both.
//
// The reference's observer is only partly documented: there are further metrics of requests and of the rollout driver,
// and bucket bounds, that are not public. The bounds and the attribute of gym.scheduler.goroutines are this package's
// own choice. No parity is claimed.
package observer
