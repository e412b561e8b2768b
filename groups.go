package lens

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/nemo-lens/lens/internal/gate"
	"github.com/nemo-lens/lens/internal/report/nearest"
)

// SpanGroup names one kind of span, for example "step". Operators switch
// groups on and off; a name is lower snake_case.
type SpanGroup string

// The groups of [BaseGroups].
const (
	Job        SpanGroup = "job"        // the whole run
	Checkpoint SpanGroup = "checkpoint" // writing a checkpoint
	Evaluate   SpanGroup = "evaluate"   // an evaluation pass

	ModelInit       SpanGroup = "model_init"       // building the model
	LoadCheckpoint  SpanGroup = "load_checkpoint"  // reading a checkpoint
	Step            SpanGroup = "step"             // one training step
	ForwardBackward SpanGroup = "forward_backward" // forward and backward pass of a step
	Optimizer       SpanGroup = "optimizer"        // the optimizer's part of a step
)

// presetAll is the preset that every class and registry has: every group.
const presetAll = "all"

// BaseGroups is the vocabulary that every training job shares: the preset
// "default" holds job, checkpoint and evaluate, "per_step" and "all" hold all
// eight groups.
var BaseGroups = MustGroupClass("base",
	[]SpanGroup{Job, Checkpoint, Evaluate, ModelInit, LoadCheckpoint, Step, ForwardBackward, Optimizer},
	map[string][]SpanGroup{
		"default":  {Job, Checkpoint, Evaluate},
		"per_step": {Job, Checkpoint, Evaluate, ModelInit, LoadCheckpoint, Step, ForwardBackward, Optimizer},
	})

// GroupSet is an immutable set of groups. The zero value is the empty set. It
// is safe for concurrent use.
type GroupSet struct{ set *gate.Set }

// NewGroupSet returns the set of the given groups. Names are taken as they
// are; duplicates collapse.
func NewGroupSet(groups ...SpanGroup) GroupSet {
	if len(groups) == 0 {
		return GroupSet{}
	}
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = string(g)
	}
	return GroupSet{gate.New(names)}
}

// Has reports whether g is in the set. Names are compared exactly.
func (s GroupSet) Has(g SpanGroup) bool { return s.set.Has(string(g)) }

// Len returns the number of groups.
func (s GroupSet) Len() int { return s.set.Len() }

// Groups returns the groups, sorted, in a slice that the caller owns.
func (s GroupSet) Groups() []SpanGroup {
	names := s.set.Names()
	groups := make([]SpanGroup, len(names))
	for i, n := range names {
		groups[i] = SpanGroup(n)
	}
	return groups
}

// String returns the groups, sorted and joined with commas: a spec that
// resolves to the set.
func (s GroupSet) String() string { return strings.Join(s.set.Names(), ",") }

// GroupResolver turns a spec into a set of groups. [*GroupClass] and
// [*GroupRegistry] implement it.
type GroupResolver interface {
	Resolve(spec string) (GroupSet, error)
}

// GroupClass is the vocabulary of one library: its groups and its presets. It
// is immutable and safe for concurrent use.
type GroupClass struct {
	namespace string
	groups    GroupSet
	presets   map[string]GroupSet // without "all"
}

// NewGroupClass returns a class. It fails when a name is not lower snake_case
// (a to z, 0 to 9 and _, beginning with a letter), when a group is given
// twice, when a name is both a group and a preset, when a name is the reserved
// "all", when a preset names a group that the class does not have, and when
// the namespace is blank. All faults are reported together.
func NewGroupClass(namespace string, groups []SpanGroup, presets map[string][]SpanGroup) (*GroupClass, error) {
	return newGroupClass(namespace, nil, groups, presets)
}

// MustGroupClass is [NewGroupClass] for package variables: it panics where
// NewGroupClass fails.
func MustGroupClass(namespace string, groups []SpanGroup, presets map[string][]SpanGroup) *GroupClass {
	c, err := NewGroupClass(namespace, groups, presets)
	if err != nil {
		panic(err)
	}
	return c
}

// Extend returns a class that has the groups and presets of c and those given
// here. A preset given again replaces the inherited one; a group that c
// already has is an error, as are the faults that [NewGroupClass] reports. A
// nil class extends to one without inherited groups.
func (c *GroupClass) Extend(namespace string, groups []SpanGroup, presets map[string][]SpanGroup) (*GroupClass, error) {
	return newGroupClass(namespace, c, groups, presets)
}

func newGroupClass(namespace string, parent *GroupClass, groups []SpanGroup, presets map[string][]SpanGroup) (*GroupClass, error) {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("lens: group class %q: "+format, append([]any{namespace}, args...)...))
	}
	if strings.TrimSpace(namespace) == "" || strings.TrimSpace(namespace) != namespace {
		fault("the namespace is blank or has surrounding space; give the name of the library")
	}
	all := make(map[SpanGroup]bool)
	c := &GroupClass{namespace: namespace, presets: make(map[string]GroupSet)}
	if parent != nil {
		for _, g := range parent.groups.Groups() {
			all[g] = true
		}
		maps.Copy(c.presets, parent.presets)
	}
	for _, g := range groups {
		switch {
		case g == presetAll:
			fault(`group "all" is reserved for the preset of every group; choose another name`)
		case !validName(string(g)):
			fault("group %q is not lower snake_case (a to z, 0 to 9, _, beginning with a letter)", g)
		case all[g]:
			fault("group %q is given twice; name each group once", g)
		default:
			all[g] = true
		}
	}
	c.groups = NewGroupSet(slices.Collect(maps.Keys(all))...)
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		switch {
		case name == presetAll:
			fault(`preset "all" is reserved; it always holds every group of the class`)
			continue
		case !validName(name):
			fault("preset %q is not lower snake_case (a to z, 0 to 9, _, beginning with a letter)", name)
			continue
		}
		for _, g := range presets[name] {
			if !all[g] {
				fault("preset %q names group %q, which the class does not have%s", name, g, didYouMean(string(g), groupNames(c.groups)))
			}
		}
		c.presets[name] = NewGroupSet(presets[name]...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.presets)) {
		if all[SpanGroup(name)] {
			fault("%q is both a group and a preset; rename one of them", name)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return c, nil
}

// Namespace returns the name of the library that the class belongs to.
func (c *GroupClass) Namespace() string { return c.orBase().namespace }

// orBase makes nil mean BaseGroups in every method.
func (c *GroupClass) orBase() *GroupClass {
	if c == nil {
		return BaseGroups
	}
	return c
}

// Groups returns every group of the class.
func (c *GroupClass) Groups() GroupSet { return c.orBase().groups }

// Presets returns the presets by name, in a map that the caller owns. It
// always holds "all".
func (c *GroupClass) Presets() map[string]GroupSet {
	c = c.orBase()
	p := maps.Clone(c.presets)
	p[presetAll] = c.groups
	return p
}

// Resolve returns the groups that spec selects. A spec is a comma-separated
// list of groups and presets in any case and order; blanks around an entry and
// empty entries are ignored. Entries that name nothing are reported together
// in an [*UnknownGroupError], beside the set of all that were known. A nil
// class is [BaseGroups].
func (c *GroupClass) Resolve(spec string) (GroupSet, error) {
	return resolve(spec, c.Groups(), c.Presets())
}

// resolve is the one parser of specs.
func resolve(spec string, groups GroupSet, presets map[string]GroupSet) (GroupSet, error) {
	var chosen []SpanGroup
	var unknown []string
	for part := range strings.SplitSeq(spec, ",") {
		name := strings.ToLower(strings.TrimSpace(part))
		if name == "" {
			continue
		}
		if p, ok := presets[name]; ok {
			chosen = append(chosen, p.Groups()...)
		} else if groups.Has(SpanGroup(name)) {
			chosen = append(chosen, SpanGroup(name))
		} else if !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	set := NewGroupSet(chosen...)
	if len(unknown) == 0 {
		return set, nil
	}
	valid := slices.Concat(groupNames(groups), slices.Collect(maps.Keys(presets)))
	slices.Sort(valid)
	return set, &UnknownGroupError{Spec: spec, Unknown: unknown, Valid: slices.Compact(valid)}
}

// UnknownGroupError reports the entries of a spec that name nothing. The set
// returned beside it still holds every entry that was known.
type UnknownGroupError struct {
	Spec    string   // the whole spec, as given
	Unknown []string // the entries that name nothing, in order, lower-cased
	Valid   []string // every group and preset that would have been known, sorted
}

// Error names every unknown entry, the nearest valid name of each, and every
// valid name.
func (e *UnknownGroupError) Error() string {
	var b strings.Builder
	b.WriteString("lens: unknown span group")
	if len(e.Unknown) > 1 {
		b.WriteString("s")
	}
	for i, u := range e.Unknown {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %q%s", u, didYouMean(u, e.Valid))
	}
	fmt.Fprintf(&b, " in the spec %q; valid are %s", e.Spec, strings.Join(e.Valid, ", "))
	return b.String()
}

// GroupRegistry is the union of the classes registered in this process: each
// library registers its own class, and one spec selects among all of them. The
// zero value is ready for use, and all methods are safe for concurrent use.
//
// Two classes may share the name of a group; there is one gate for it, and it
// stays known until no class has it. A preset name that several classes have
// means the union of their presets.
type GroupRegistry struct {
	mu      sync.RWMutex
	classes map[string]*GroupClass
	shared  []string // what Register has to say at the next set-up
}

// DefaultRegistry is the registry of this process. Libraries register their
// class in it when their package is initialised; give it to [FromEnv] to let
// one spec select among them.
var DefaultRegistry = new(GroupRegistry)

// registryChanged is called after every change of a registry, without its lock; added is
// the namespace of a new class.
var registryChanged = func(r *GroupRegistry, added string) {}

// Register adds the class. Adding the same class again does nothing; another
// class with the same namespace is an error (see [GroupRegistry.Replace]). Two
// classes may have a group of the same name, which then switches the spans of
// both; a warning says so at set-up. A class registered after [SetupTelemetry]
// still takes effect, with a warning.
func (r *GroupRegistry) Register(c *GroupClass) error {
	if c == nil {
		return errors.New("lens: Register: the class is nil; make one with NewGroupClass")
	}
	r.mu.Lock()
	old := r.classes[c.namespace]
	if old != nil && old != c {
		r.mu.Unlock()
		return fmt.Errorf("lens: namespace %q is already registered by another class; use Replace, or register under a namespace of your own", c.namespace)
	}
	if old == c {
		r.mu.Unlock()
		return nil
	}
	for _, other := range slices.Sorted(maps.Keys(r.classes)) {
		if both := common(c.groups, r.classes[other].groups); len(both) > 0 {
			r.shared = append(r.shared, fmt.Sprintf("the span groups [%s] of namespace %q are also groups of %q: each name switches both; use Replace to share names on purpose",
				strings.Join(both, ", "), c.namespace, other))
		}
	}
	r.set(c)
	r.mu.Unlock()
	registryChanged(r, c.namespace)
	return nil
}

func common(a, b GroupSet) []string {
	return slices.DeleteFunc(groupNames(a), func(name string) bool { return !b.Has(SpanGroup(name)) })
}

// takeShared returns the warnings about shared names, once.
func (r *GroupRegistry) takeShared() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	shared := r.shared
	r.shared = nil
	return shared
}

// Replace adds the class and drops the one that had its namespace, if any. It
// says nothing about groups that other classes have as well. A nil class is
// ignored.
func (r *GroupRegistry) Replace(c *GroupClass) {
	if c == nil {
		return
	}
	r.mu.Lock()
	r.set(c)
	r.mu.Unlock()
	registryChanged(r, c.namespace)
}

// set needs the lock.
func (r *GroupRegistry) set(c *GroupClass) {
	if r.classes == nil {
		r.classes = make(map[string]*GroupClass)
	}
	r.classes[c.namespace] = c
}

// Unregister drops the class with that namespace; its groups are off from then
// on unless another class has them. An unknown namespace is an error.
func (r *GroupRegistry) Unregister(namespace string) error {
	r.mu.Lock()
	if r.classes[namespace] == nil {
		known := slices.Sorted(maps.Keys(r.classes))
		r.mu.Unlock()
		return fmt.Errorf("lens: namespace %q is not registered%s; registered are [%s]",
			namespace, didYouMean(namespace, known), strings.Join(known, ", "))
	}
	delete(r.classes, namespace)
	r.mu.Unlock()
	registryChanged(r, "")
	return nil
}

// snapshot returns the groups and the presets at one moment.
func (r *GroupRegistry) snapshot() (groups GroupSet, presets map[string]GroupSet, namespaces []string) {
	if r == nil { // as a nil resolver
		return BaseGroups.Groups(), BaseGroups.Presets(), []string{BaseGroups.Namespace()}
	}
	r.mu.RLock()
	classes := slices.Collect(maps.Values(r.classes))
	namespaces = slices.Sorted(maps.Keys(r.classes))
	r.mu.RUnlock()
	// Classes are immutable, so the rest needs no lock.
	var all []SpanGroup
	united := make(map[string][]SpanGroup)
	for _, c := range classes {
		all = append(all, c.groups.Groups()...)
		for name, p := range c.presets {
			united[name] = append(united[name], p.Groups()...)
		}
	}
	groups = NewGroupSet(all...)
	presets = map[string]GroupSet{presetAll: groups}
	for name, members := range united {
		presets[name] = NewGroupSet(members...)
	}
	return groups, presets, namespaces
}

// Resolve is [GroupClass.Resolve] against all classes registered at this
// moment.
func (r *GroupRegistry) Resolve(spec string) (GroupSet, error) {
	groups, presets, _ := r.snapshot()
	return resolve(spec, groups, presets)
}

// Groups returns every group registered at this moment.
func (r *GroupRegistry) Groups() GroupSet {
	groups, _, _ := r.snapshot()
	return groups
}

// Presets returns the presets by name, united across namespaces, in a map that
// the caller owns. It always holds "all".
func (r *GroupRegistry) Presets() map[string]GroupSet {
	_, presets, _ := r.snapshot()
	return presets
}

// Namespaces returns the registered namespaces, sorted.
func (r *GroupRegistry) Namespaces() []string {
	_, _, namespaces := r.snapshot()
	return namespaces
}

func validName(s string) bool {
	for i := range len(s) {
		switch ch := s[i]; {
		case ch >= 'a' && ch <= 'z':
		case i > 0 && (ch >= '0' && ch <= '9' || ch == '_'):
		default:
			return false
		}
	}
	return s != ""
}

func groupNames(s GroupSet) []string { return s.set.Names() }

// didYouMean returns a parenthesis to put after a misspelt name, or nothing.
func didYouMean(name string, candidates []string) string {
	if near, ok := nearest.Nearest(name, candidates); ok {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}
