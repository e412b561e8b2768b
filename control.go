//go:build !lens_noop

package lens

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/nemo-lens/lens/internal/ossignal"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/web/control"
)

// ControlHandler returns a handler that shows what this process is doing and
// changes its span groups while it runs. Nothing listens by itself: mount it
// where only those can come who may change the process, because it asks nobody
// for a name.
//
//	mux.Handle("/debug/lens", lens.ControlHandler())
//
// GET answers with JSON: the spec, the groups and presets, [Stats], and the
// spans that are open, the oldest first; a browser gets a page of it that
// refreshes itself. PUT, with a JSON body, changes the groups in one step:
//
//	{"spec": "per_step"}                         as SetSpanGroupSpec does
//	{"groups": {"step": true, "job": false}}     single groups; the others are pinned as they are
//	{"spec": "all", "for": "2m"}                 either of them for a time of at most 24h, then back
//	{"revert": true}                             back at once
//
// A body with an unknown name, also of a registry, or an impossible time
// changes nothing; the answer says which names are valid. Every change is
// logged, and shown with who made it, when, and until when. A page of another
// site cannot make one. Text under a redact key is not shown.
//
// The handler is safe for concurrent use, before a set-up and after a shutdown
// as well. It is not in a build with the tag lens_noop, which is to stay free
// of net/http; lenshttp.ControlHandler is in both.
func ControlHandler() http.Handler {
	return &control.Handler{
		Switch: groupSwitch, View: controlView, Valid: validNames,
		Log: func(text string) { log().Warn(text, text) },
	}
}

// EscalateSpanGroups switches to the spec for the time d, above 0 and at most
// 24 hours, and then back to what was before; no goroutine waits for that. An
// unknown name, also of a registry, is an [*UnknownGroupError], and nothing
// changes. Called again meanwhile, the later call decides, and its end brings
// back what was before the first. Whoever changes the groups otherwise in the
// meantime has the last word. The returned function goes back early.
func EscalateSpanGroups(spec string, d time.Duration) (revert func(), err error) {
	return escalate(spec, d, "EscalateSpanGroups")
}

func escalate(spec string, d time.Duration, by string) (revert func(), err error) {
	if d == 0 { // for the switch that is for good
		return nil, fmt.Errorf("lens: escalate to %q: %w", spec, &control.ForError{For: d})
	}
	revert, err = groupSwitch.Apply(func(control.Setting) (control.Setting, error) {
		return control.Setting{Spec: spec}, nil
	}, d, by)
	if err != nil {
		return nil, fmt.Errorf("lens: escalate to %q: %w", spec, err)
	}
	return revert, nil
}

// EscalateOnSignal calls [EscalateSpanGroups] whenever the process gets one of
// the signals: the way to more detail where no port can be opened. At least
// one signal has to be named, and the spec and the time are checked now. The
// returned function takes the handler away again.
func EscalateOnSignal(spec string, d time.Duration, sigs ...os.Signal) (stop func(), err error) {
	if len(sigs) == 0 {
		return nil, errors.New("lens: escalate on a signal: no signal is named; name one that the process does not use otherwise, such as SIGUSR1")
	}
	if d <= 0 || d > control.MaxFor {
		return nil, fmt.Errorf("lens: escalate to %q: %w", spec, &control.ForError{For: d})
	}
	if err := (groupsOfProcess{}).Check(control.Setting{Spec: spec}); err != nil {
		return nil, fmt.Errorf("lens: escalate to %q: %w", spec, err)
	}
	return ossignal.Each(sigs, func(sig os.Signal) {
		by := fmt.Sprintf("the signal %q", sig)
		if _, err := escalate(spec, d, by); err != nil {
			warn("escalate on signal", fmt.Sprintf("%s: %v", by, err))
			return
		}
		warn("escalated on signal", fmt.Sprintf("%s: the span groups were changed to %q for %s", by, spec, d))
	}), nil
}

// known returns what the vocabulary of the set-up has.
func known() (groupSet GroupSet, presets map[string]GroupSet) {
	groups.mu.Lock()
	resolver := Config{Groups: groups.resolver}.resolver()
	groups.mu.Unlock()
	switch r := resolver.(type) {
	case *GroupClass:
		return r.Groups(), r.Presets()
	case *GroupRegistry:
		return r.Groups(), r.Presets()
	default:
		all, _ := r.Resolve(presetAll)
		return all, map[string]GroupSet{presetAll: all}
	}
}

func validNames() (names, presetNames []string) {
	all, presets := known()
	return groupNames(all), slices.Sorted(maps.Keys(presets))
}

func controlView() control.View {
	v := control.View{WorldSize: 1, Presets: map[string][]string{}}
	h := Current()
	if h != nil {
		v.Service, v.RunID, v.Rank, v.WorldSize = h.service, h.RunID(), h.rank, h.worldSize
		v.Exporting, v.ExportsTo = h.IsExporting(), h.Endpoint()
	}
	groups.mu.Lock()
	if groups.stored {
		spec := groups.spec
		v.Spec = &spec
	}
	v.Enabled, v.Waiting, v.SpansNever = orNone(groupNames(EnabledSpanGroups())), orNone(slices.Clone(groups.pending)), groups.silent
	groups.mu.Unlock()

	all, presets := known()
	for name, members := range presets {
		v.Presets[name] = groupNames(members)
	}
	names := groupNames(all)
	for _, name := range v.Enabled { // pinned under a name of its own
		if !all.Has(SpanGroup(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	v.Groups = make([]control.Group, len(names))
	for i, name := range names {
		g := control.Group{Name: name, Enabled: slices.Contains(v.Enabled, name), Presets: []string{}}
		for _, preset := range slices.Sorted(maps.Keys(presets)) {
			if preset != presetAll && presets[preset].Has(SpanGroup(name)) {
				g.Presets = append(g.Presets, preset)
			}
		}
		v.Groups[i] = g
	}
	v.Stats = h.Stats()
	now := time.Now()
	open := h.OpenSpans()
	v.OpenTotal, v.Open = len(open), []control.OpenSpan{}
	for _, s := range open[:min(len(open), control.MaxOpen)] {
		v.Open = append(v.Open, openSpanView(s, now))
	}
	return v
}

func openSpanView(s OpenSpan, now time.Time) control.OpenSpan {
	o := control.OpenSpan{
		Name: s.Name, Group: string(s.Group), Start: s.Start, AgeSeconds: max(now.Sub(s.Start).Seconds(), 0),
		TraceID: s.TraceID.String(), SpanID: s.SpanID.String(),
	}
	if s.ParentSpanID.IsValid() {
		o.ParentID = s.ParentSpanID.String()
	}
	// The application may have set attributes past lens's filter.
	for _, kv := range privateCopy(s.Attributes) {
		if o.Attributes == nil {
			o.Attributes = map[string]any{}
		}
		o.Attributes[string(kv.Key)] = report.Value(kv.Value)
	}
	return o
}

func orNone(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
