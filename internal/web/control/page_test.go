//go:build unix

package control

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/internal/web/browsertest"
)

// The switches of the page work, its table follows, and it asks nobody but the process.
func TestPageInChromium(t *testing.T) {
	p := &process{setting: Setting{Spec: "default"}}
	p.open = []OpenSpan{
		{Name: "train.job", Group: "job", AgeSeconds: 8000, SpanID: "01"},
		{Name: "train.step", Group: "step", AgeSeconds: 603, SpanID: "02", ParentID: "01", Attributes: map[string]any{"dl.iteration": 1204}},
		{Name: "<b>train.allreduce</b>", AgeSeconds: 602.5, SpanID: "03", ParentID: "02"},
	}
	h, _ := p.handler()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	b := browsertest.Start(t)
	b.Open(srv.URL)
	// is waits until an expression on the page is true.
	is := func(expression string) {
		t.Helper()
		b.Await(`(() => { try { return (` + expression + `) ? "yes" : "" } catch { return "" } })()`)
	}
	is(`document.querySelectorAll("#open tr").length === 3`)
	assert.Contains(t, b.Eval(`document.getElementById("who").textContent`), "trainer · rank 5 of 8, run run-1")
	assert.Contains(t, b.Eval(`document.getElementById("state").textContent`), "Spec: default.")
	assert.Contains(t, b.Eval(`document.getElementById("open").textContent`), "10 min 3 s")
	assert.Contains(t, b.Eval(`document.getElementById("open").textContent`), "dl.iteration=1204")
	assert.Contains(t, b.Eval(`document.getElementById("open").textContent`), "<b>train.allreduce</b>", "text, not markup")
	assert.Equal(t, "true,false", b.Eval(`[...document.querySelectorAll("[data-group]")].map(x => x.checked)`))

	b.Eval(`document.querySelector('[data-group="step"]').click()`)
	is(`document.getElementById("state").textContent.includes("Changed to the groups job,step until")`)
	assert.Equal(t, []string{"job", "step"}, p.enabled())
	require.NotNil(t, h.Switch.Pending())
	assert.InDelta(t, 5*time.Minute, time.Until(h.Switch.Pending().Until), float64(time.Minute))
	b.Picture("control")
	b.Eval(`document.getElementById("revert").click()`)
	is(`document.getElementById("revert").hidden`)
	assert.Equal(t, []string{"job"}, p.enabled())

	b.Eval(`(document.getElementById("for").value = "", document.getElementById("spec").value = "all", document.querySelector("form button").click())`)
	is(`document.getElementById("state").textContent.includes("Spec: all.")`)
	assert.Nil(t, h.Switch.Pending())
	b.Eval(`(document.getElementById("spec").value = "stpe", document.querySelector("form button").click())`)
	is(`document.getElementById("problem").textContent.includes('unknown "stpe" Presets: all, default. Groups: job, step.')`)

	// The table follows without being asked.
	p.mu.Lock()
	p.open = p.open[:1]
	p.mu.Unlock()
	is(`document.querySelectorAll("#open tr").length === 1`)
	for _, url := range b.URLs {
		assert.True(t, strings.HasPrefix(url, srv.URL) || strings.HasPrefix(url, "data:"), url)
	}
}
