package control

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

//go:embed page.html
var page string

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// Handler shows a process and changes its groups.
type Handler struct {
	Switch *Switch
	View   func() View // without what the Switch knows
	// Valid returns the names of groups and presets.
	Valid func() (groups, presets []string)
	// Log is told of every change.
	Log func(text string)
}

// request is the body of a PUT.
type request struct {
	Spec   *string         `json:"spec"`
	Groups map[string]bool `json:"groups"`
	For    *string         `json:"for"`
	Revert bool            `json:"revert"`
}

type fault struct {
	Error        string   `json:"error"`
	ValidGroups  []string `json:"valid_groups,omitempty"`
	ValidPresets []string `json:"valid_presets,omitempty"`
}

var crossOrigin = http.NewCrossOriginProtection()

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Accept")
	header.Set("X-Content-Type-Options", "nosniff")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if wantsPage(r.Header.Get("Accept")) {
			h.page(w)
			return
		}
		h.json(w, http.StatusOK, h.view())
	case http.MethodPut:
		h.put(w, r)
	default:
		header.Set("Allow", "GET, HEAD, PUT")
		h.fail(w, http.StatusMethodNotAllowed, fmt.Errorf("the method %s is not served: GET shows the state, PUT changes it", r.Method), false)
	}
}

// wantsPage reports whether a browser asks, which names HTML first.
func wantsPage(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		kind, _, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		switch kind {
		case "text/html", "application/xhtml+xml":
			return true
		case "application/json":
			return false
		}
	}
	return false
}

func (h *Handler) view() View {
	v := h.View()
	v.Changes = h.Switch.Changes()
	if v.Changes == nil {
		v.Changes = []Change{}
	}
	if p := h.Switch.Pending(); p != nil {
		v.Temporary = &Temporary{To: p.To, RevertsTo: p.RevertsTo, Since: p.Since, Until: p.Until}
	}
	v.Now = time.Now()
	return v
}

func (h *Handler) page(w http.ResponseWriter) {
	nonce := rand.Text()
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'nonce-"+nonce+
		"'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("Referrer-Policy", "no-referrer")
	_, _ = io.WriteString(w, strings.ReplaceAll(page, "{{nonce}}", nonce))
}

func (h *Handler) put(w http.ResponseWriter, r *http.Request) {
	if err := crossOrigin.Check(r); err != nil {
		h.fail(w, http.StatusForbidden, errors.New("a page of another site must not change this process"), false)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		h.fail(w, http.StatusUnsupportedMediaType, errors.New("the body must have the Content-Type application/json"), false)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		h.fail(w, http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d bytes", maxBody), false)
		return
	} else if err != nil {
		h.fail(w, http.StatusBadRequest, errors.New("the body could not be read whole"), false)
		return
	}
	q, d, err := parse(body)
	if err != nil {
		h.fail(w, http.StatusBadRequest, err, false)
		return
	}
	by := "HTTP from " + r.RemoteAddr
	if q.Revert {
		if !h.Switch.Revert(by) {
			h.fail(w, http.StatusConflict, errors.New("nothing is there to revert"), false)
			return
		}
		h.log(by + ": the temporary change of the span groups was reverted")
		h.json(w, http.StatusOK, h.view())
		return
	}
	var to Setting
	_, err = h.Switch.Apply(func(now Setting) (Setting, error) {
		to, err = h.next(q)
		return to, err
	}, d, by)
	var badTime *ForError
	switch {
	case errors.As(err, &badTime):
		h.fail(w, http.StatusBadRequest, fmt.Errorf(`"for": %w`, err), false)
		return
	case err != nil:
		h.fail(w, http.StatusBadRequest, err, true)
		return
	}
	text := by + ": the span groups were changed to " + to.String()
	if d > 0 {
		text += " for " + d.String()
	}
	h.log(text)
	h.json(w, http.StatusOK, h.view())
}

// next is the setting that a request asks for.
func (h *Handler) next(q request) (Setting, error) {
	if q.Spec != nil {
		return Setting{Spec: *q.Spec}, nil
	}
	groups, _ := h.Valid()
	enabled := h.View().Enabled
	var unknown []string
	for name, on := range q.Groups {
		if !slices.Contains(groups, name) && !slices.Contains(enabled, name) {
			unknown = append(unknown, fmt.Sprintf("%q", name))
			continue
		}
		enabled = slices.DeleteFunc(enabled, func(g string) bool { return g == name })
		if on {
			enabled = append(enabled, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return Setting{}, fmt.Errorf("no span group is called %s; nothing has changed", strings.Join(unknown, ", "))
	}
	slices.Sort(enabled)
	return Setting{Pinned: true, Groups: enabled}, nil
}

func parse(body []byte) (q request, d time.Duration, err error) {
	const form = `want a JSON object such as {"spec": "all", "for": "2m"}, {"groups": {"step": true}} or {"revert": true}`
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&q); err != nil {
		return q, 0, fmt.Errorf("the body is not understood (%w): %s", err, form)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return q, 0, errors.New("the body has more than one JSON value: " + form)
	}
	asked := 0
	for _, there := range []bool{q.Spec != nil, len(q.Groups) > 0, q.Revert} {
		if there {
			asked++
		}
	}
	if asked != 1 {
		return q, 0, errors.New(`the body must have one of "spec", "groups" and "revert": ` + form)
	}
	if q.For == nil {
		return q, 0, nil
	}
	if q.Revert {
		return q, 0, errors.New(`"for" has no meaning beside "revert"`)
	}
	d, err = time.ParseDuration(strings.TrimSpace(*q.For))
	if err != nil {
		return q, 0, fmt.Errorf(`"for" is %q: want a time such as 90s, 2m or 1h30m`, *q.For)
	}
	if d <= 0 || d > MaxFor {
		return q, 0, fmt.Errorf(`"for": %w`, &ForError{d})
	}
	return q, d, nil
}

func (h *Handler) log(text string) {
	if h.Log != nil {
		h.Log(text)
	}
}

func (h *Handler) fail(w http.ResponseWriter, status int, err error, names bool) {
	f := fault{Error: strings.ToValidUTF8(err.Error(), "\ufffd")}
	if names {
		f.ValidGroups, f.ValidPresets = h.Valid()
	}
	h.json(w, status, f)
}

func (h *Handler) json(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil { // an attribute that JSON has no form for was not made a text
		status = http.StatusInternalServerError
		b.Reset()
		b.WriteString("{\"error\": \"the state cannot be written as JSON\"}\n")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}
