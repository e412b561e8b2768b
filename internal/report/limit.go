package report

import "time"

const (
	firstPause = 30 * time.Second
	maxPause   = 24 * time.Hour
	pauseGrows = 4

	// maxKinds bounds the memory that kinds made from error texts can take.
	// What comes after shares one kind.
	maxKinds  = 256
	otherKind = "other"
)

// kind is the state of one kind of warning.
type kind struct {
	msg        string
	pause      time.Duration // between the last line and the next
	next       time.Time     // no line before
	last       time.Time     // the last warning, shown or not
	suppressed int           // since the last line

	failing bool
	since   time.Time // of the outage
	total   int       // of the outage
	shown   bool      // a line was written in this outage
}

// failed counts a warning and says whether to show it, with the number held back
// before it.
func (l *Log) failed(name, msg string) (show bool, repeated int) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[name]
	if k == nil {
		if len(l.kinds) >= maxKinds {
			name = otherKind
			k = l.kinds[name]
		}
		if k == nil {
			k = &kind{}
			l.kinds[name] = k
		}
	}
	if now.Sub(k.last) > k.pause {
		k.pause, k.next = 0, now
	}
	k.last = now
	if !k.failing {
		k.failing, k.since, k.total, k.shown = true, now, 0, false
		l.failing.Add(1)
	}
	k.total++
	k.msg = msg
	if now.Before(k.next) {
		k.suppressed++
		return false, 0
	}
	k.pause = min(max(firstPause, k.pause*pauseGrows), maxPause)
	k.next = now.Add(k.pause)
	k.shown = true
	repeated, k.suppressed = k.suppressed, 0
	return true, repeated
}

func (l *Log) recovered(name string) (show bool, failures int, lasted time.Duration) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[name]
	if k == nil || !k.failing {
		return false, 0, 0
	}
	k.failing = false
	l.failing.Add(-1)
	if k.shown {
		// The line below counts them.
		k.suppressed = 0
	}
	return k.shown, k.total, now.Sub(k.since)
}

// heldBack returns the kinds that have something unsaid, and marks it as said.
func (l *Log) heldBack() []kind {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []kind
	for _, k := range l.kinds {
		if k.suppressed > 0 {
			out = append(out, *k)
			k.suppressed = 0
		}
	}
	return out
}
