package served

import (
	"context"
	"net/http"
	"strings"
	"sync"
)

// TakeOver puts what a handler has left on its copy of a request on the
// original: the pattern and the path values that a router found out, for
// handlers further out, and the forms, because net/http removes the temporary
// files of the request that it made. Call it when the handler has returned.
func TakeOver(outer, inner *http.Request) {
	NoteRoute(inner)
	if inner.Pattern != outer.Pattern {
		outer.Pattern = inner.Pattern
		for name := range wildcards(inner.Pattern) {
			outer.SetPathValue(name, inner.PathValue(name))
		}
	}
	if inner.Form != nil {
		outer.Form = inner.Form
	}
	if inner.PostForm != nil {
		outer.PostForm = inner.PostForm
	}
	if inner.MultipartForm != nil {
		outer.MultipartForm = inner.MultipartForm
	}
}

// wildcards yields the names of a pattern's wildcards.
func wildcards(pattern string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			_, rest, ok := strings.Cut(pattern, "{")
			if !ok {
				return
			}
			var name string
			if name, pattern, ok = strings.Cut(rest, "}"); !ok {
				return
			}
			if name = strings.TrimSuffix(name, "..."); name != "$" && !yield(name) {
				return
			}
		}
	}
}

// Route is the pattern that was found for a copy of a request, which need not
// be served by the same goroutine. The zero value is none yet.
type Route struct {
	mu      sync.Mutex
	pattern string
}

type routeKey struct{}

// WithRoute returns a context for a request, the patterns of whose copies are
// noted in r.
func WithRoute(ctx context.Context, r *Route) context.Context {
	return context.WithValue(ctx, routeKey{}, r)
}

// NoteRoute notes the request's pattern, unless one is known for its context
// already: that of a router further in.
func NoteRoute(req *http.Request) {
	if req.Pattern == "" {
		return
	}
	if r, _ := req.Context().Value(routeKey{}).(*Route); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.pattern == "" {
			r.pattern = req.Pattern
		}
	}
}

// Pattern returns what was noted.
func (r *Route) Pattern() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pattern
}
