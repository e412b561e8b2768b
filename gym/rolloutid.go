package gym

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/felixge/httpsnoop"

	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/internal/web/served"
)

type rolloutKey struct{}

// maxRolloutID bounds what a stranger's request can put on every span. The
// reference has no bound.
const maxRolloutID = 256

// ValidRolloutID reports whether id is a letter or digit followed by letters,
// digits, dots, dashes and underscores, in ASCII, and at most 256 bytes long.
func ValidRolloutID(id string) bool {
	if id == "" || len(id) > maxRolloutID {
		return false
	}
	for i := range len(id) {
		switch ch := id[i]; {
		case ch >= 'a' && ch <= 'z', ch >= 'A' && ch <= 'Z', ch >= '0' && ch <= '9':
		case i > 0 && (ch == '.' || ch == '-' || ch == '_'):
		default:
			return false
		}
	}
	return true
}

// WithRolloutID returns a context that works for the rollout. An id that is
// not valid is rejected, not repaired: ctx comes back as it is.
func WithRolloutID(ctx context.Context, id string) context.Context {
	if !ValidRolloutID(id) {
		return ctx
	}
	return context.WithValue(ctx, rolloutKey{}, id)
}

// RolloutID returns the id of the rollout that ctx works for, or "".
func RolloutID(ctx context.Context) string {
	if ctx == nil {
		return ""
	}
	id, _ := ctx.Value(rolloutKey{}).(string)
	return id
}

const rolloutPathRoot = "/ng-rollout/"

// RolloutPathPrefix returns what goes before the path of a request to another
// server so that [RolloutPath] finds the id there, "/ng-rollout/<id>". It is
// empty when ctx works for no rollout.
func RolloutPathPrefix(ctx context.Context) string {
	id := RolloutID(ctx)
	if id == "" {
		return ""
	}
	return rolloutPathRoot + id
}

// SplitRolloutPath takes the prefix "/ng-rollout/<id>" off a path. Without the
// prefix, with an id that is not valid, or with nothing after the id, ok is
// false and rest is path.
func SplitRolloutPath(path string) (id, rest string, ok bool) {
	tail, found := strings.CutPrefix(path, rolloutPathRoot)
	if !found {
		return "", path, false
	}
	slash := strings.IndexByte(tail, '/')
	if slash < 0 || !ValidRolloutID(tail[:slash]) {
		return "", path, false
	}
	return tail[:slash], tail[slash:], true
}

// RolloutPath serves "/ng-rollout/<id>/..." as "/..." with the id in the
// request's context, and everything else as it is. A redirect to a path of the
// same server, such as the router's own to the path with a slash at its end,
// gets the prefix back. Put it outside the router. It is routing, not telemetry:
// it works the same when telemetry is off.
func RolloutPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, rest, ok := SplitRolloutPath(r.URL.Path)
		rawRest := ""
		if ok && r.URL.RawPath != "" {
			// The two spellings of the path have to agree on where the id ends.
			var rawID string
			rawID, rawRest, ok = SplitRolloutPath(r.URL.RawPath)
			ok = ok && rawID == id
		}
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		inner := r.WithContext(WithRolloutID(r.Context(), id))
		url := *r.URL
		url.Path, url.RawPath = rest, rawRest
		inner.URL = &url
		serveInner(next, redirectsBelow(w, rolloutPathRoot+id), r, inner)
	})
}

// redirectsBelow returns w with the prefix in front of the path that a redirect
// names, unless it names another server or has the prefix of a rollout.
func redirectsBelow(w http.ResponseWriter, prefix string) http.ResponseWriter {
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				to := w.Header().Get("Location")
				if code >= 300 && code < 400 && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") &&
					!strings.HasPrefix(to, rolloutPathRoot) {
					w.Header().Set("Location", prefix+to)
				}
				next(code)
			}
		},
	})
}

// serveInner serves a copy of the request and takes over what was left on it.
func serveInner(next http.Handler, w http.ResponseWriter, outer, inner *http.Request) {
	defer served.TakeOver(outer, inner)
	next.ServeHTTP(w, inner)
}

// RolloutIDFromBody returns the id that the body of a request for a rollout
// gives: the text "_ng_rollout_id", else "<_ng_task_index>-<_ng_rollout_index>",
// followed by "-a<n>" when _ng_attempt_index is above 0. Null counts as absent.
// Without an id or both indices the result is "", and an error when body is not
// a JSON object. An explicit id that is not valid is an error and not repaired;
// indices have to be whole numbers from 0.
func RolloutIDFromBody(body []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", fmt.Errorf("gym: rollout id: want a JSON object")
	}
	found := make(map[string]json.RawMessage, 4)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return "", fmt.Errorf("gym: rollout id: the body is not valid JSON")
		}
		key, _ := t.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return "", fmt.Errorf("gym: rollout id: the body is not valid JSON")
		}
		switch key {
		case "_ng_rollout_id", "_ng_task_index", "_ng_rollout_index", "_ng_attempt_index":
			if string(value) == "null" {
				value = nil
			}
			found[key] = value
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return "", fmt.Errorf("gym: rollout id: the body is not valid JSON")
	}
	if text := found["_ng_rollout_id"]; text != nil {
		var id string
		if err := json.Unmarshal(text, &id); err != nil || !ValidRolloutID(id) {
			return "", fmt.Errorf("gym: _ng_rollout_id=%s: want a letter or digit, then letters, digits, '.', '-' and '_', at most %d bytes",
				envtext.Shorten(string(text), 80), maxRolloutID)
		}
		return id, nil
	}
	if found["_ng_task_index"] == nil || found["_ng_rollout_index"] == nil {
		return "", nil
	}
	var index [3]uint64
	for i, key := range []string{"_ng_task_index", "_ng_rollout_index", "_ng_attempt_index"} {
		text := string(found[key])
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return "", fmt.Errorf("gym: %s=%s: want a whole number from 0", key, envtext.Shorten(text, 80))
		}
		index[i] = n
	}
	id := fmt.Sprintf("%d-%d", index[0], index[1])
	if index[2] > 0 {
		id += fmt.Sprintf("-a%d", index[2])
	}
	return id, nil
}

// maxRolloutBody is how much of a body is looked at for the id.
const maxRolloutBody = 1 << 20

// RolloutBody gives the request's context the id that its JSON body names, see
// [RolloutIDFromBody]. A context that works for a rollout already is kept, and
// a body without a usable id changes nothing. The next handler reads the whole
// body as it was sent. Bodies above 1 MiB are not looked at. Like [RolloutPath]
// it works the same when telemetry is off.
func RolloutBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner := withRolloutFromBody(r)
		if inner == r {
			next.ServeHTTP(w, r)
			return
		}
		serveInner(next, w, r, inner)
	})
}

// withRolloutFromBody returns r itself when there is nothing to add to its
// context. It replaces r.Body by one that gives the same bytes and errors.
func withRolloutFromBody(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength > maxRolloutBody || RolloutID(r.Context()) != "" {
		return r
	}
	start, err := io.ReadAll(io.LimitReader(r.Body, maxRolloutBody+1))
	replay := &replayedBody{rest: bytes.NewReader(start), err: err, body: r.Body}
	r.Body = replay
	if err != nil || len(start) > maxRolloutBody {
		return r
	}
	id, err := RolloutIDFromBody(start)
	if err != nil || id == "" {
		return r
	}
	return r.WithContext(WithRolloutID(r.Context(), id))
}

// replayedBody gives what was read ahead, then the error that ended it or the
// rest of the body.
type replayedBody struct {
	rest *bytes.Reader
	err  error
	body io.ReadCloser
}

func (b *replayedBody) Read(p []byte) (int, error) {
	if b.rest.Len() > 0 {
		return b.rest.Read(p)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.body.Read(p)
}

func (b *replayedBody) Close() error { return b.body.Close() }
