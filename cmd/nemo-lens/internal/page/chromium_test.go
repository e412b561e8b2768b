//go:build unix

package page

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/summary"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
)

// browser speaks Chromium's debugging protocol over two pipes.
type browser struct {
	t       *testing.T
	to      *os.File
	replies chan message
	next    int
	tab     string
	urls    []string // of all requests
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
	// Tab is which tab a message is of.
	Tab string `json:"sessionId,omitempty"`
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" || testing.Short() {
		t.Skip("SKIPPED: there is no Chromium to show the page in (or -short): install chromium to run this test")
	}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
		"--remote-debugging-pipe", "--window-size=1500,900", "about:blank")
	cmd.ExtraFiles = []*os.File{inRead, outWrite}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = inRead.Close(), outWrite.Close()
	b := &browser{t: t, to: inWrite, replies: make(chan message, 1024)}
	go func() {
		defer close(b.replies)
		in := bufio.NewReader(outRead)
		for {
			text, err := in.ReadBytes(0)
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) == nil {
				b.replies <- m
			}
		}
	}()
	t.Cleanup(func() {
		b.send("Browser.close", nil)
		_ = inWrite.Close()
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			cancel()
			<-done
		}
		cancel()
		_ = outRead.Close()
	})
	return b
}

func (b *browser) send(method string, params any) int {
	b.next++
	raw, _ := json.Marshal(params)
	text, _ := json.Marshal(message{ID: b.next, Method: method, Params: raw, Tab: b.tab})
	_, _ = b.to.Write(append(text, 0))
	return b.next
}

func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	id := b.send(method, params)
	deadline := time.After(60 * time.Second)
	for {
		select {
		case m, ok := <-b.replies:
			if !ok {
				b.t.Fatalf("%s: the browser has gone", method)
			}
			if m.Method == "Network.requestWillBeSent" {
				var p struct{ Request struct{ URL string } }
				_ = json.Unmarshal(m.Params, &p)
				b.urls = append(b.urls, p.Request.URL)
			}
			if m.ID != id {
				continue
			}
			if m.Error != nil {
				b.t.Fatalf("%s: %s", method, m.Error)
			}
			if result != nil {
				if err := json.Unmarshal(m.Result, result); err != nil {
					b.t.Fatal(err)
				}
			}
			return
		case <-deadline:
			b.t.Fatalf("%s: no answer", method)
		}
	}
}

// open shows a file in a new tab and waits until the page says that it is ready.
func (b *browser) open(path string) (ready float64) {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		Tab string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.tab = attached.Tab
	b.call("Network.enable", map[string]any{}, nil)
	b.call("Page.enable", map[string]any{}, nil)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1500, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text := b.eval(`document.documentElement ? document.documentElement.dataset.ready || "" : ""`); text != "" {
			_, _ = fmt.Sscan(text, &ready)
			return ready
		}
	}
	b.t.Fatal("the page is not ready after a minute")
	return 0
}

// eval is the text of a value on the page.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.call("Runtime.evaluate", map[string]any{"expression": "String(" + expression + ")", "returnByValue": true}, &out)
	if out.ExceptionDetails != nil {
		b.t.Fatalf("%s: %v", expression, out.ExceptionDetails)
	}
	text, _ := out.Result.Value.(string)
	return text
}

// frame waits until what was asked for is drawn.
func (b *browser) frame() {
	b.t.Helper()
	b.call("Runtime.evaluate", map[string]any{
		"expression":   "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))",
		"awaitPromise": true,
	}, nil)
}

func (b *browser) mouse(kind string, x, y float64, more map[string]any) {
	b.t.Helper()
	params := map[string]any{"type": kind, "x": x, "y": y}
	for k, v := range more {
		params[k] = v
	}
	b.call("Input.dispatchMouseEvent", params, nil)
}

func (b *browser) click(x, y float64) {
	b.t.Helper()
	button := map[string]any{"button": "left", "clickCount": 1}
	b.mouse("mousePressed", x, y, button)
	b.mouse("mouseReleased", x, y, button)
}

func (b *browser) key(key string) {
	b.t.Helper()
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": key}, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// picture saves a screenshot when the caller asked for them.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("NEMO_LENS_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)); err != nil {
		b.t.Fatal(err)
	}
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
	b := startBrowser(t)
	run := tracegen.Run{ID: "a", Ranks: 64, Steps: 196, Micro: 4, SlowRank: 3, Seed: 1, Start: 1_700_000_000e9, Batch: 512}
	path, spans := writePage(t, run)
	if spans < 100_000 {
		t.Fatalf("%d spans", spans)
	}
	ready := b.open(path)
	t.Logf("%d spans are shown after %.0f ms", spans, ready)
	b.frame()
	b.picture("all")
	if got := b.eval(`document.getElementById("facts").textContent`); !strings.Contains(got, "64 processes") {
		t.Errorf("the header says %q", got)
	}
	if got := b.eval(`document.querySelectorAll("#names tbody tr").length`); got != "6" {
		t.Errorf("the summary has %s names", got)
	}

	// Zoom: the wheel over the first rank's steps, until few spans are left.
	before := b.eval(`window.__drawn`)
	for range 12 {
		b.mouse("mouseWheel", 500, 110, map[string]any{"deltaX": 0, "deltaY": -200})
	}
	b.frame()
	b.picture("zoomed")
	var many, few int
	_, _ = fmt.Sscan(before, &many)
	_, _ = fmt.Sscan(b.eval(`window.__drawn`), &few)
	if few == 0 || few*10 > many {
		t.Errorf("%d spans are drawn before zooming and %d after", many, few)
	}

	// Selection: the job of rank 0 is the first row.
	b.click(600, 39+32)
	b.frame()
	if got := b.eval(`document.getElementById("dname").textContent`); got != "train.job" {
		t.Errorf("a click on the first row selects %q", got)
	}
	b.click(600, 39+32+15)
	b.frame()
	b.picture("selected")
	detail := b.eval(`document.getElementById("detail").innerText`)
	for _, want := range []string{"train.step", "rank 0 on node0", "dl.iteration", "dl.loss", "parent", "own time"} {
		if !strings.Contains(detail, want) {
			t.Errorf("the selection does not show %q: %s", want, detail)
		}
	}
	b.key("p")
	b.frame()
	if got := b.eval(`document.getElementById("dname").textContent`); got != "train.job" {
		t.Errorf("the parent is %q", got)
	}

	// Search.
	b.eval(`document.getElementById("search").focus()`)
	b.call("Input.insertText", map[string]any{"text": "all_reduce"}, nil)
	b.frame()
	if got, want := b.eval(`document.getElementById("hits").textContent`), fmt.Sprint(64*196, " hits"); got != want {
		t.Errorf("the search finds %q, want %q", got, want)
	}
	b.click(1, 500) // anywhere else
	b.eval(`document.getElementById("next").click()`)
	b.frame()
	b.picture("searched")
	if got := b.eval(`document.getElementById("dname").textContent`); got != "train.all_reduce" {
		t.Errorf("the first hit is %q", got)
	}

	// A range of time has a summary of its own.
	b.eval(`(document.getElementById("search").value = "", document.getElementById("search").dispatchEvent(new Event("input")), document.getElementById("all").click())`)
	b.mouse("mousePressed", 300, 300, map[string]any{"button": "left", "clickCount": 1, "modifiers": 8})
	b.mouse("mouseMoved", 420, 300, map[string]any{"button": "left", "buttons": 1, "modifiers": 8})
	b.mouse("mouseReleased", 420, 300, map[string]any{"button": "left", "clickCount": 1, "modifiers": 8})
	b.frame()
	b.picture("range")
	if got := b.eval(`document.getElementById("scope").textContent`); !strings.HasPrefix(got, "spans in ") {
		t.Errorf("the range says %q", got)
	}

	// The steps, with the slow rank.
	b.eval(`document.getElementById("tabsteps").click()`)
	b.frame()
	b.picture("steps")
	if got := b.eval(`document.querySelector("#steps tbody tr").innerText`); !strings.Contains(got, "rank 3") {
		t.Errorf("the first step says %q", got)
	}

	for _, url := range b.urls {
		if !strings.HasPrefix(url, "file://"+path) {
			t.Errorf("the page asks for %s", url)
		}
	}
	if len(b.urls) == 0 {
		t.Error("not even the page itself was seen to be requested: the test does not watch requests")
	}
}
