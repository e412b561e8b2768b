// Package panics tells of a panic what a span needs to know: its text, and whether a
// span further in has recorded it. In comes the value that recover returned.
package panics

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// Text is the text of any value, also of one whose own method panics.
func Text(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("<%T whose text cannot be made>", v)
		}
	}()
	if err, ok := v.(error); ok {
		return err.Error()
	}
	return fmt.Sprint(v)
}

// recent holds the panics that were recorded last, by identity.
var recent struct {
	sync.Mutex
	ids  [64][2]uintptr
	next int
}

// Recorded reports whether the panic with the value r came through another call of the
// function on this goroutine, which calls Recorded itself and is given by its full name,
// and remembers the panic when not. A panic that goes on is raised on top of the frames
// of the inner call, so that frame is still on the stack; the identity tells it from
// another panic in a deferred function.
func Recorded(r any, function string) bool {
	id := *(*[2]uintptr)(unsafe.Pointer(&r))
	recent.Lock()
	known := false
	for _, seen := range recent.ids {
		known = known || seen == id
	}
	if !known {
		recent.ids[recent.next%len(recent.ids)] = id
		recent.next++
	}
	recent.Unlock()
	return known && Frames(function, 2) > 1
}

// Frames counts the frames of a function on the stack, up to enough.
func Frames(function string, enough int) (count int) {
	pcs := make([]uintptr, 256)
	for skip := 0; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs)
		frames := runtime.CallersFrames(pcs[:n])
		for n > 0 {
			f, more := frames.Next()
			if f.Function == function {
				count++
			}
			if !more {
				break
			}
		}
		if n < len(pcs) || count >= enough {
			return count
		}
	}
}
