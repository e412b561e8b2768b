package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// process is a process with the groups job and step, and the preset default.
type process struct {
	mu       sync.Mutex
	setting  Setting
	revision uint64
	open     []OpenSpan
}

func (p *process) Setting() (Setting, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.setting, p.revision
}

func (p *process) Check(s Setting) error {
	for name := range strings.SplitSeq(s.Spec, ",") {
		if !s.Pinned && !slices.Contains([]string{"", "job", "step", "default", "all"}, name) {
			return fmt.Errorf("unknown %q", name)
		}
	}
	return nil
}

func (p *process) Set(s Setting, revision uint64) (uint64, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revision != revision {
		return 0, false, nil
	}
	p.setting, p.revision = s, revision+1
	return p.revision, true, nil
}

// byOther is a change that the program makes itself.
func (p *process) byOther(s Setting) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setting, p.revision = s, p.revision+1
}

func (p *process) now() Setting {
	s, _ := p.Setting()
	return s
}

func (p *process) enabled() []string {
	s, _ := p.Setting()
	switch {
	case s.Pinned:
		return slices.Clone(s.Groups)
	case s.Spec == "all":
		return []string{"job", "step"}
	case s.Spec == "":
		return []string{}
	case s.Spec == "default":
		return []string{"job"}
	}
	return strings.Split(s.Spec, ",")
}

func (p *process) handler() (*Handler, *[]string) {
	var said []string
	return &Handler{
		Switch: &Switch{Groups: p},
		View: func() View {
			v := View{Service: "trainer", RunID: "run-1", WorldSize: 8, Rank: 5, Enabled: p.enabled(), Waiting: []string{},
				Presets: map[string][]string{"default": {"job"}, "all": {"job", "step"}}, Stats: map[string]int{"Started": 3}}
			if s, _ := p.Setting(); !s.Pinned {
				v.Spec = &s.Spec
			}
			for _, g := range []string{"job", "step"} {
				v.Groups = append(v.Groups, Group{Name: g, Enabled: slices.Contains(v.Enabled, g), Presets: []string{}})
			}
			p.mu.Lock()
			v.Open, v.OpenTotal = slices.Clone(p.open), len(p.open)
			p.mu.Unlock()
			if v.Open == nil {
				v.Open = []OpenSpan{}
			}
			return v
		},
		Valid: func() ([]string, []string) { return []string{"job", "step"}, []string{"all", "default"} },
		Log:   func(text string) { said = append(said, text) },
	}, &said
}

func spec(s string) func(Setting) (Setting, error) {
	return func(Setting) (Setting, error) { return Setting{Spec: s}, nil }
}

func TestAChangeReverts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{setting: Setting{Spec: "default"}}
		s := &Switch{Groups: p}
		_, err := s.Apply(spec("all"), 2*time.Minute, "me")
		require.NoError(t, err)
		assert.Equal(t, "all", p.now().Spec)
		require.NotNil(t, s.Pending())
		assert.Equal(t, "the spec default", s.Pending().RevertsTo)
		assert.Equal(t, time.Now().Add(2*time.Minute), s.Pending().Until)
		time.Sleep(2*time.Minute - time.Nanosecond)
		assert.Equal(t, "all", p.now().Spec)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, "default", p.now().Spec)
		assert.Nil(t, s.Pending())
		changes := s.Changes()
		require.Len(t, changes, 2)
		assert.Equal(t, "back to the spec default", changes[0].To)
		assert.Equal(t, "me", changes[1].By)
		assert.Equal(t, changes[0].When, *changes[1].Until)
	})
}

func TestChangesThatFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{setting: Setting{Pinned: true, Groups: []string{"job"}}}
		s := &Switch{Groups: p}
		first, err := s.Apply(spec("step"), time.Minute, "first")
		require.NoError(t, err)
		time.Sleep(30 * time.Second)
		_, err = s.Apply(spec("all"), time.Minute, "second")
		require.NoError(t, err)
		first() // has been overtaken
		time.Sleep(45 * time.Second)
		synctest.Wait()
		assert.Equal(t, "all", p.now().Spec, "the first one's time is over, the second's is not")
		time.Sleep(15 * time.Second)
		synctest.Wait()
		assert.Equal(t, Setting{Pinned: true, Groups: []string{"job"}}, p.now(), "as before the first")

		revert, err := s.Apply(spec("all"), time.Minute, "third")
		require.NoError(t, err)
		revert()
		revert()
		assert.Equal(t, []string{"job"}, p.now().Groups)

		_, err = s.Apply(spec("all"), time.Minute, "fourth")
		require.NoError(t, err)
		_, err = s.Apply(spec("step"), 0, "for good")
		require.NoError(t, err)
		assert.Nil(t, s.Pending())
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, "step", p.now().Spec)
	})
}

// A program that changes the groups itself has the last word.
func TestTheProgramHasTheLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{setting: Setting{Spec: "default"}}
		s := &Switch{Groups: p}
		_, err := s.Apply(spec("all"), time.Minute, "me")
		require.NoError(t, err)
		p.byOther(Setting{Spec: "step"})
		assert.Nil(t, s.Pending())
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, "step", p.now().Spec)

		_, err = s.Apply(spec("all"), time.Minute, "me")
		require.NoError(t, err)
		s.Forget()
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, "all", p.now().Spec)
	})
}

func TestManyChangesAtOnce(t *testing.T) {
	p := &process{setting: Setting{Spec: "default"}}
	s := &Switch{Groups: p}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 100 {
				if i == 0 {
					p.byOther(Setting{Spec: "default"})
					continue
				}
				revert, err := s.Apply(spec("all"), time.Hour, "me")
				assert.NoError(t, err)
				s.Pending()
				revert()
			}
		})
	}
	all.Wait()
	s.Revert("me")
	assert.LessOrEqual(t, len(s.Changes()), keptChanges)
}

func serve(h http.Handler, method, body string, change ...func(*http.Request)) (*http.Response, map[string]any) {
	r := httptest.NewRequest(method, "http://host.example/debug/lens", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var v map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &v)
	return w.Result(), v
}

func TestGet(t *testing.T) {
	p := &process{setting: Setting{Spec: "default"}}
	h, _ := p.handler()
	answer, v := serve(h, http.MethodGet, "")
	assert.Equal(t, http.StatusOK, answer.StatusCode)
	assert.Equal(t, "application/json", answer.Header.Get("Content-Type"))
	assert.Equal(t, "default", v["spec"])
	assert.Equal(t, []any{"job"}, v["enabled"])
	assert.Equal(t, []any{}, v["open_spans"])
	assert.Equal(t, []any{}, v["changes"])
	for accept, want := range map[string]string{
		"text/html,application/xhtml+xml,*/*;q=0.8": "text/html; charset=utf-8", "*/*": "application/json", "": "application/json",
		"application/json, text/html": "application/json",
	} {
		answer, _ = serve(h, http.MethodGet, "", func(r *http.Request) { r.Header.Set("Accept", accept) })
		assert.Equal(t, want, answer.Header.Get("Content-Type"), accept)
	}
}

func TestPut(t *testing.T) {
	p := &process{setting: Setting{Spec: "default"}}
	h, said := p.handler()
	answer, v := serve(h, http.MethodPut, `{"spec": "all", "for": "2m"}`)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	assert.Equal(t, []any{"job", "step"}, v["enabled"])
	temporary := v["temporary"].(map[string]any)
	assert.Equal(t, "the spec default", temporary["reverts_to"])
	assert.Contains(t, (*said)[0], "the span groups were changed to the spec all for 2m0s")

	answer, v = serve(h, http.MethodPut, `{"revert": true}`)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	assert.Equal(t, "default", v["spec"])
	assert.Nil(t, v["temporary"])
	answer, v = serve(h, http.MethodPut, `{"revert": true}`)
	assert.Equal(t, http.StatusConflict, answer.StatusCode)
	assert.Equal(t, "nothing is there to revert", v["error"])

	answer, v = serve(h, http.MethodPut, `{"groups": {"step": true, "job": false}}`)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	assert.Nil(t, v["spec"])
	assert.Equal(t, []any{"step"}, v["enabled"])
	assert.Equal(t, "the groups step", v["changes"].([]any)[0].(map[string]any)["to"])
}

func TestWhatIsRefusedChangesNothing(t *testing.T) {
	p := &process{setting: Setting{Spec: "default"}}
	h, said := p.handler()
	for body, want := range map[string]string{
		`{"spec": "stpe"}`:                       `unknown "stpe"`,
		`{"groups": {"stpe": true}}`:             `no span group is called "stpe"; nothing has changed`,
		`{"spec": "all", "for": "0s"}`:           `"for": 0s is no time for a change that reverts: want more than 0 and at most 24h0m0s`,
		`{"spec": "all", "for": "-1m"}`:          `"for": -1m0s is no time`,
		`{"spec": "all", "for": "8760h"}`:        `"for": 8760h0m0s is no time`,
		`{"spec": "all", "for": "soon"}`:         `"for" is "soon": want a time such as 90s, 2m or 1h30m`,
		`{"spec": "all", "for": 5}`:              "the body is not understood",
		``:                                       "the body is not understood (EOF): want a JSON object such as",
		`null`:                                   `the body must have one of "spec", "groups" and "revert"`,
		`{"groups": {}}`:                         `the body must have one of`,
		`{"spec": "all", "groups": {"a": true}}`: `the body must have one of`,
		`{"revert": true, "for": "1m"}`:          `"for" has no meaning beside "revert"`,
		`{"spec": "all"} {"spec": "job"}`:        "more than one JSON value",
		`{"specs": "all"}`:                       `unknown field "specs"`,
	} {
		answer, v := serve(h, http.MethodPut, body)
		assert.Equal(t, http.StatusBadRequest, answer.StatusCode, body)
		assert.Contains(t, v["error"], want, body)
		if strings.Contains(body, "stpe") {
			assert.Equal(t, []any{"job", "step"}, v["valid_groups"])
			assert.Equal(t, []any{"all", "default"}, v["valid_presets"])
		}
	}
	for status, c := range map[int]struct {
		method, body string
		change       func(*http.Request)
	}{
		http.StatusMethodNotAllowed:      {http.MethodPost, `{"spec": "all"}`, func(*http.Request) {}},
		http.StatusRequestEntityTooLarge: {http.MethodPut, `{"spec": "` + strings.Repeat("a", maxBody) + `"}`, func(*http.Request) {}},
		http.StatusUnsupportedMediaType:  {http.MethodPut, `{"spec": "all"}`, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
		http.StatusForbidden:             {http.MethodPut, `{"spec": "all"}`, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
	} {
		answer, v := serve(h, c.method, c.body, c.change)
		assert.Equal(t, status, answer.StatusCode)
		assert.NotEmpty(t, v["error"])
		assert.Equal(t, status == http.StatusMethodNotAllowed, answer.Header.Get("Allow") != "")
	}
	answer, _ := serve(h, http.MethodPut, `{"spec": "all"}`, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") })
	assert.Equal(t, http.StatusForbidden, answer.StatusCode)
	answer, v := serve(h, http.MethodPut, "", func(r *http.Request) { r.Body = io.NopCloser(broken{}) })
	assert.Equal(t, http.StatusBadRequest, answer.StatusCode)
	assert.Equal(t, "the body could not be read whole", v["error"])
	assert.Equal(t, Setting{Spec: "default"}, p.setting)
	assert.Empty(t, *said)
	assert.Empty(t, h.Switch.Changes())
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the cable is cut") }

func FuzzPut(f *testing.F) {
	for _, body := range []string{`{"spec": "all", "for": "2m"}`, `{"groups": {"step": true}}`, `{"revert": true}`, `[]`, ``} {
		f.Add(body)
	}
	p := &process{setting: Setting{Spec: "default"}}
	h, _ := p.handler()
	f.Fuzz(func(t *testing.T, body string) {
		answer, v := serve(h, http.MethodPut, body)
		if answer.StatusCode != http.StatusOK && v["error"] == "" || answer.StatusCode >= 500 {
			t.Fatalf("%d %v", answer.StatusCode, v)
		}
		h.Switch.Forget()
	})
}
