//go:build unix

package page

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/summary"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
	"github.com/nemo-lens/lens/internal/web/browsertest"
)

// openPage shows a file and waits until the page says that it is ready.
func openPage(b *browsertest.Browser, path string) (ready float64) {
	b.Open("file://" + path)
	_, _ = fmt.Sscan(b.Await(`document.documentElement ? document.documentElement.dataset.ready || "" : ""`), &ready)
	return ready
}

// writePage writes the page of a run to a file.
func writePage(t *testing.T, run tracegen.Run) (path string, spans int) {
	t.Helper()
	store, report := trace.NewStore(true), &trace.Report{}
	r := trace.Reader{Store: store, Report: report}
	for rank := range run.Ranks {
		var file bytes.Buffer
		if err := run.WriteRank(&file, rank); err != nil {
			t.Fatal(err)
		}
		if err := r.Read(t.Context(), "x", &file); err != nil {
			t.Fatal(err)
		}
	}
	store.Resolve(report)
	path = filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	data := Data{Title: "run " + run.ID, Names: summary.Names(store, nil), Steps: summary.Steps(store, nil)}
	if err := errors.Join(Write(f, store, nil, data), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path, store.Len()
}

// TestPageInChromium shows 100,000 spans of 64 ranks in a real browser and uses
// the page as a person would.
func TestPageInChromium(t *testing.T) {
	b := browsertest.Start(t)
	run := tracegen.Run{ID: "a", Ranks: 64, Steps: 196, Micro: 4, SlowRank: 3, Seed: 1, Start: 1_700_000_000e9, Batch: 512}
	path, spans := writePage(t, run)
	if spans < 100_000 {
		t.Fatalf("%d spans", spans)
	}
	ready := openPage(b, path)
	t.Logf("%d spans are shown after %.0f ms", spans, ready)
	b.Frame()
	b.Picture("all")
	if got := b.Eval(`document.getElementById("facts").textContent`); !strings.Contains(got, "64 processes") {
		t.Errorf("the header says %q", got)
	}
	if got := b.Eval(`document.querySelectorAll("#names tbody tr").length`); got != "6" {
		t.Errorf("the summary has %s names", got)
	}

	// Zoom: the wheel over the first rank's steps, until few spans are left.
	before := b.Eval(`window.__drawn`)
	for range 12 {
		b.Mouse("mouseWheel", 500, 110, map[string]any{"deltaX": 0, "deltaY": -200})
	}
	b.Frame()
	b.Picture("zoomed")
	var many, few int
	_, _ = fmt.Sscan(before, &many)
	_, _ = fmt.Sscan(b.Eval(`window.__drawn`), &few)
	if few == 0 || few*10 > many {
		t.Errorf("%d spans are drawn before zooming and %d after", many, few)
	}

	// Selection: the job of rank 0 is the first row.
	b.Click(600, 39+32)
	b.Frame()
	if got := b.Eval(`document.getElementById("dname").textContent`); got != "train.job" {
		t.Errorf("a click on the first row selects %q", got)
	}
	b.Click(600, 39+32+15)
	b.Frame()
	b.Picture("selected")
	detail := b.Eval(`document.getElementById("detail").innerText`)
	for _, want := range []string{"train.step", "rank 0 on node0", "dl.iteration", "dl.loss", "parent", "own time"} {
		if !strings.Contains(detail, want) {
			t.Errorf("the selection does not show %q: %s", want, detail)
		}
	}
	b.Key("p")
	b.Frame()
	if got := b.Eval(`document.getElementById("dname").textContent`); got != "train.job" {
		t.Errorf("the parent is %q", got)
	}

	// Search.
	b.Eval(`document.getElementById("search").focus()`)
	b.Call("Input.insertText", map[string]any{"text": "all_reduce"}, nil)
	b.Frame()
	if got, want := b.Eval(`document.getElementById("hits").textContent`), fmt.Sprint(64*196, " hits"); got != want {
		t.Errorf("the search finds %q, want %q", got, want)
	}
	b.Click(1, 500) // anywhere else
	b.Eval(`document.getElementById("next").click()`)
	b.Frame()
	b.Picture("searched")
	if got := b.Eval(`document.getElementById("dname").textContent`); got != "train.all_reduce" {
		t.Errorf("the first hit is %q", got)
	}

	// A range of time has a summary of its own.
	b.Eval(`(document.getElementById("search").value = "", document.getElementById("search").dispatchEvent(new Event("input")), document.getElementById("all").click())`)
	b.Mouse("mousePressed", 300, 300, map[string]any{"button": "left", "clickCount": 1, "modifiers": 8})
	b.Mouse("mouseMoved", 420, 300, map[string]any{"button": "left", "buttons": 1, "modifiers": 8})
	b.Mouse("mouseReleased", 420, 300, map[string]any{"button": "left", "clickCount": 1, "modifiers": 8})
	b.Frame()
	b.Picture("range")
	if got := b.Eval(`document.getElementById("scope").textContent`); !strings.HasPrefix(got, "spans in ") {
		t.Errorf("the range says %q", got)
	}

	// The steps, with the slow rank.
	b.Eval(`document.getElementById("tabsteps").click()`)
	b.Frame()
	b.Picture("steps")
	if got := b.Eval(`document.querySelector("#steps tbody tr").innerText`); !strings.Contains(got, "rank 3") {
		t.Errorf("the first step says %q", got)
	}

	for _, url := range b.URLs {
		if !strings.HasPrefix(url, "file://"+path) {
			t.Errorf("the page asks for %s", url)
		}
	}
	if len(b.URLs) == 0 {
		t.Error("not even the page itself was seen to be requested: the test does not watch requests")
	}
}
