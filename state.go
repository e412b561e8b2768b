//go:build !lens_noop

package lens

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nemo-lens/lens/internal/gate"
	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/globals"
	"github.com/nemo-lens/lens/internal/pipeline/plan"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/web/control"
)

// setup is what a set-up has published, in one piece. It does not change.
type setup struct {
	handle    *TelemetryHandle // nil before a set-up and after its shutdown
	recording *plan.Running    // everything records into it; nil when nothing is recorded
	traces    *pipeline.Traces // of recording, for the path of a span
	strict    bool             // see WithStrictRedaction
	log       *report.Log
}

// published is never nil. Whoever replaces it holds setupMu.
var (
	published atomic.Pointer[setup]
	setupMu   sync.Mutex
)

func init() {
	published.Store(&setup{log: report.New(nil)})
	registryChanged = groupsChanged
}

// providers are what the handle gives out and what OpenTelemetry's globals are.
var providers = globals.All{Tracers: globals.Tracers{TracerSettings: &globals.TracerSettings{Traces: activeTraces, Global: true}}}

// publish makes s what the process records into.
func publish(s setup) {
	var p *pipeline.Pipeline
	if s.recording != nil {
		p = s.recording.Pipeline
		s.traces = p.Traces
	}
	published.Store(&s)
	providers.Use(p)
}

// activeTraces returns where spans go, nil when they go nowhere, and whether anything is
// recorded at all.
func activeTraces() (traces *pipeline.Traces, active bool) {
	s := published.Load()
	return s.traces, s.recording != nil
}

// log is the library's own.
func log() *report.Log { return published.Load().log }

func warn(kind, text string) { log().Warn(kind, text) }

func strictRedaction() bool { return published.Load().strict }

// enabled is the set that every gate reads, never nil. Writers hold groups.mu.
var enabled = gate.NewPointer(gate.New(nil))

// groups is what the enabled set was made from.
var groups struct {
	mu       sync.Mutex
	resolver GroupResolver // given at set-up; nil means BaseGroups
	stored   bool          // a spec is stored; false when the set is pinned
	spec     string
	pending  []string
	revision uint64 // of what decides: new whenever somebody changes the spec or pins groups
	reported string // what was last warned about, so that a refresh does not repeat it
	silent   bool   // this process exports no spans: specs are checked and stored, and open no gate
}

// IsSpanGroupEnabled reports whether spans of the group are recorded. It is
// false for every group before [SetupTelemetry]. It takes no lock, allocates
// nothing, and is safe anywhere.
func IsSpanGroupEnabled(g SpanGroup) bool {
	return enabled.MayHave(len(g)) && enabled.Has(string(g))
}

// SetEnabledSpanGroups switches on exactly these groups, whatever they are
// called, and returns those that were on before, to put them back later. It pins
// the groups: the stored spec is dropped, so that classes registered later change
// nothing. Spans that are open go on. It is safe for concurrent use: of calls at
// the same time each returns what the one before it has set.
func SetEnabledSpanGroups(gs ...SpanGroup) (before GroupSet) {
	groups.mu.Lock()
	defer groups.mu.Unlock()
	before = EnabledSpanGroups()
	pinLocked(gs...)
	return before
}

// leaveGroups ends what a set-up has said about groups.
func leaveGroups() {
	groupSwitch.Forget()
	groups.mu.Lock()
	defer groups.mu.Unlock()
	groups.silent, groups.resolver = false, nil
	pinLocked()
}

func orEmpty(s *gate.Set) *gate.Set {
	if s == nil {
		return gate.New(nil)
	}
	return s
}

func pinLocked(gs ...SpanGroup) {
	groups.revision++
	groups.stored, groups.spec, groups.pending, groups.reported = false, "", nil, ""
	enabled.Store(orEmpty(NewGroupSet(gs...).set))
}

// SetSpanGroupSpec resolves the spec against the vocabulary given at set-up
// ([BaseGroups] before) and switches to what it selects. With a fixed class an
// unknown entry is an [*UnknownGroupError] and nothing changes. With a
// [*GroupRegistry] unknown entries are pending: they are warned about, and
// take effect when their owner registers. In a process whose set-up exports no
// spans, the spec is checked and every group stays off.
func SetSpanGroupSpec(spec string) error {
	groups.mu.Lock()
	warn, err := applyLocked(groups.resolver, spec, true)
	groups.mu.Unlock()
	warn()
	return err
}

// useGroups is SetSpanGroupSpec with a new vocabulary, by a set-up that exports
// spans or, silent, does not.
func useGroups(r GroupResolver, spec string, silent bool) error {
	groups.mu.Lock()
	groups.silent = silent
	warn, err := applyLocked(r, spec, true)
	groups.mu.Unlock()
	warn()
	warnShared(r)
	return err
}

func warnShared(r GroupResolver) {
	if registry, ok := r.(*GroupRegistry); ok && registry != nil {
		for _, text := range registry.takeShared() {
			log().Warn(text, text)
		}
	}
}

// applyLocked resolves and publishes in one lock hold, so that a slow
// resolution cannot overwrite a newer one. It returns the warning to give once
// the lock is released.
func applyLocked(r GroupResolver, spec string, always bool) (func(), error) {
	set, err := Config{Groups: r}.resolver().Resolve(spec)
	if err != nil && !lenient(r, err) {
		return func() {}, err
	}
	var unknown *UnknownGroupError
	groups.pending = nil
	if errors.As(err, &unknown) {
		groups.pending = slices.Clone(unknown.Unknown)
	}
	if always {
		groups.revision++
	}
	groups.resolver, groups.stored, groups.spec = r, strings.TrimSpace(spec) != "", spec
	if groups.silent {
		enabled.Store(orEmpty(nil))
		return func() {}, nil
	}
	enabled.Store(orEmpty(set.set))

	kind, report := describe(r, spec, set, unknown)
	repeated := kind == groups.reported
	groups.reported = kind
	if report == "" || (repeated && !always) {
		return func() {}, nil
	}
	return func() { log().Warn("span-groups "+kind, report) }, nil
}

// describe returns what an operator should hear about the outcome, and a key
// that is equal when it would be the same news.
func describe(r GroupResolver, spec string, set GroupSet, unknown *UnknownGroupError) (kind, report string) {
	registry, _ := r.(*GroupRegistry)
	switch {
	case strings.TrimSpace(spec) == "":
		return "", ""
	case registry != nil && len(registry.Namespaces()) == 0:
		return "empty", "no library has registered span groups, so the spec \"" + spec + "\" selects nothing yet"
	case unknown != nil:
		return "unknown " + strings.Join(unknown.Unknown, ","), unknown.Error() +
			"; registered namespaces are [" + strings.Join(registry.Namespaces(), ", ") + "]; the other entries apply, these will when their owner registers"
	case set.Len() == 0:
		return "nothing", "the span group spec \"" + spec + "\" selects no group"
	}
	return "", ""
}

// groupsChanged resolves the stored spec again when a registry has changed.
func groupsChanged(r *GroupRegistry, added string) {
	groups.mu.Lock()
	if current, ok := groups.resolver.(*GroupRegistry); !ok || current != r {
		groups.mu.Unlock()
		return
	}
	if !groups.stored {
		groups.mu.Unlock()
		warnShared(r)
		return
	}
	warn, _ := applyLocked(r, groups.spec, false)
	groups.mu.Unlock()
	if added != "" && published.Load().recording != nil {
		log().Warn("late "+added, "span groups of \""+added+"\" were registered after SetupTelemetry; they apply from now on. Register before set-up to record from the start")
	}
	warn()
	warnShared(r)
}

// EnabledSpanGroups returns the groups that are on at this moment.
func EnabledSpanGroups() GroupSet { return GroupSet{enabled.Load()} }

// PendingSpanGroups returns the entries of the stored spec that name nothing
// yet, in a slice that the caller owns.
func PendingSpanGroups() []string {
	groups.mu.Lock()
	defer groups.mu.Unlock()
	return slices.Clone(groups.pending)
}

// groupSwitch changes the groups for a time; see control.go.
var groupSwitch = &control.Switch{Groups: groupsOfProcess{}}

// groupsOfProcess are the groups above, for the switch.
type groupsOfProcess struct{}

func (groupsOfProcess) Setting() (control.Setting, uint64) {
	groups.mu.Lock()
	defer groups.mu.Unlock()
	if groups.stored {
		return control.Setting{Spec: groups.spec}, groups.revision
	}
	return control.Setting{Pinned: true, Groups: groupNames(EnabledSpanGroups())}, groups.revision
}

func (groupsOfProcess) Check(s control.Setting) error {
	if s.Pinned {
		return nil
	}
	groups.mu.Lock()
	resolver := groups.resolver
	groups.mu.Unlock()
	_, err := Config{Groups: resolver}.resolver().Resolve(s.Spec)
	return err
}

func (groupsOfProcess) Set(s control.Setting, revision uint64) (uint64, bool, error) {
	groups.mu.Lock()
	if groups.revision != revision {
		groups.mu.Unlock()
		return 0, false, nil
	}
	warn, err := func() {}, error(nil)
	if s.Pinned {
		gs := make([]SpanGroup, len(s.Groups))
		for i, g := range s.Groups {
			gs[i] = SpanGroup(g)
		}
		pinLocked(gs...)
	} else {
		warn, err = applyLocked(groups.resolver, s.Spec, true)
	}
	now := groups.revision
	groups.mu.Unlock()
	warn()
	return now, err == nil, err
}
