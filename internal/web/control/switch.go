package control

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Setting is what decides which groups are on: a spec, or groups that are pinned.
type Setting struct {
	Spec   string
	Pinned bool
	Groups []string // when pinned
}

// String is the setting as an operator would say it.
func (s Setting) String() string {
	switch {
	case s.Pinned && len(s.Groups) == 0:
		return "no groups"
	case s.Pinned:
		return "the groups " + strings.Join(s.Groups, ",")
	case s.Spec == "":
		return "an empty spec"
	}
	return "the spec " + s.Spec
}

// Groups are the span groups of the process. A revision is new after every change of
// the setting, by whomever.
type Groups interface {
	Setting() (s Setting, revision uint64)
	// Check says why a setting is not one that somebody can mean, such as a spec with
	// names that nothing has.
	Check(s Setting) error
	// Set changes the setting if the revision is still the given one; otherwise it
	// reports false. The error says why the setting is not possible; nothing has
	// changed then.
	Set(s Setting, revision uint64) (now uint64, ok bool, err error)
}

// MaxFor bounds how long a change can be for.
const MaxFor = 24 * time.Hour

// keptChanges bounds the history.
const keptChanges = 20

// Change is a change of the groups that was made here.
type Change struct {
	When  time.Time  `json:"when"`
	By    string     `json:"by"`
	To    string     `json:"to"`
	Until *time.Time `json:"until,omitempty"` // when it was to revert
}

// Pending is a change that will revert by itself.
type Pending struct {
	To, RevertsTo string
	Since, Until  time.Time
}

// Switch changes groups. It is safe for concurrent use.
type Switch struct {
	Groups Groups

	mu      sync.Mutex
	pending *pending
	changes []Change
}

type pending struct {
	timer    *time.Timer
	base     Setting // of before the first of changes that followed each other
	to       Setting
	revision uint64
	since    time.Time
	until    time.Time
}

// ForError says that the time for which a change was to be cannot be.
type ForError struct{ For time.Duration }

func (e *ForError) Error() string {
	return fmt.Sprintf("%s is no time for a change that reverts: want more than 0 and at most %s", e.For, MaxFor)
}

// Apply makes the change that next returns for the setting of the moment, in one step,
// and reverts it after d; 0 is for good. While a change is pending, another one that
// reverts goes back to what was before the first; one for good ends that. What Apply
// returns undoes the change early, if it is still pending and nobody has changed the
// groups since.
func (s *Switch) Apply(next func(now Setting) (Setting, error), d time.Duration, by string) (revert func(), err error) {
	if d < 0 || d > MaxFor {
		return nil, &ForError{d}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var before, to Setting
	var revision uint64
	for {
		var at uint64
		before, at = s.Groups.Setting()
		s.drop(at)
		if to, err = next(before); err != nil {
			return nil, err
		}
		if err = s.Groups.Check(to); err != nil {
			return nil, err
		}
		var ok bool
		if revision, ok, err = s.Groups.Set(to, at); err != nil {
			return nil, err
		}
		if ok {
			break
		}
	}
	base := before
	if s.pending != nil {
		base = s.pending.base
		s.pending.timer.Stop()
		s.pending = nil
	}
	now := time.Now()
	change := Change{When: now, By: by, To: to.String()}
	if d == 0 {
		s.note(change)
		return func() {}, nil
	}
	until := now.Add(d)
	change.Until = &until
	s.note(change)
	p := &pending{base: base, to: to, revision: revision, since: now, until: until}
	p.timer = time.AfterFunc(d, func() { s.revert(p, "the end of its time") })
	s.pending = p
	return func() { s.revert(p, by) }, nil
}

// drop forgets a pending change when somebody else has changed the groups since.
func (s *Switch) drop(revision uint64) {
	if s.pending != nil && s.pending.revision != revision {
		s.pending.timer.Stop()
		s.pending = nil
	}
}

func (s *Switch) revert(p *pending, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending != p {
		return
	}
	p.timer.Stop()
	s.pending = nil
	if _, ok, err := s.Groups.Set(p.base, p.revision); ok && err == nil {
		s.note(Change{When: time.Now(), By: by, To: "back to " + p.base.String()})
	}
}

// Revert undoes the pending change; it reports false when there is none.
func (s *Switch) Revert(by string) bool {
	p := s.current()
	if p == nil {
		return false
	}
	s.revert(p, by)
	return true
}

func (s *Switch) current() *pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, revision := s.Groups.Setting()
	s.drop(revision)
	return s.pending
}

func (s *Switch) note(c Change) {
	s.changes = append(s.changes, c)
	if len(s.changes) > keptChanges {
		s.changes = slices.Delete(s.changes, 0, len(s.changes)-keptChanges)
	}
}

// Forget ends what is pending without undoing it: somebody has taken over.
func (s *Switch) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending != nil {
		s.pending.timer.Stop()
		s.pending = nil
	}
}

// Pending returns the change that will revert, or nil.
func (s *Switch) Pending() *Pending {
	p := s.current()
	if p == nil {
		return nil
	}
	return &Pending{To: p.to.String(), RevertsTo: p.base.String(), Since: p.since, Until: p.until}
}

// Changes returns the last changes, the latest first.
func (s *Switch) Changes() []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := slices.Clone(s.changes)
	slices.Reverse(changes)
	return changes
}
