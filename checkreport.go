package lens

import "time"

// CheckReport is what [Check] found out.
type CheckReport struct {
	// Config is the configuration that was checked.
	Config Config
	// RunID is the run id that a set-up would have; a random one differs each time.
	RunID string
	// Rank and WorldSize are those of this process, and ExportingRanks those of all
	// ranks of the job that would export.
	Rank, WorldSize int
	ExportingRanks  []int
	// Groups are the span groups that would be on.
	Groups GroupSet
	// Signals are traces, metrics and logs, in this order.
	Signals []SignalCheck
	// Off says why nothing would be recorded; it is empty when telemetry is on.
	Off string
	// Problems are what SetupTelemetry would refuse, and Warnings what it would log.
	Problems []error
	Warnings []string
}

// SignalCheck is where one signal would go.
type SignalCheck struct {
	Signal   string // "traces", "metrics" or "logs"
	Enabled  bool
	Off      string   // why it is not enabled although the configuration says so
	Exporter string   // "otlp", "console", "file" or "none"
	Where    string   // the endpoint, and whether TLS is used, or the file
	Protocol string   // of otlp
	Headers  []string // the names of the headers that are sent, never their values
	// Asked is true when the receiver was sent an empty request. Err is why it did
	// not take that, with the remedy where it is known.
	Asked bool
	Took  time.Duration
	Err   error
}
