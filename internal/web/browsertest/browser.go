//go:build unix

package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Browser speaks Chromium's debugging protocol over two pipes.
type Browser struct {
	t       testing.TB
	to      *os.File
	replies chan message
	next    int
	tab     string
	// URLs are the addresses of all requests so far.
	URLs []string
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

// Start starts a browser that the end of the test ends. Without Chromium the test is skipped.
func Start(t testing.TB) *Browser {
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
	// t.TempDir removes its folder once, and Chromium's own processes write to the
	// profile for a moment after the one that they belong to has ended.
	profile, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		deadline := time.Now().Add(30 * time.Second)
		for os.RemoveAll(profile) != nil && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+profile,
		"--remote-debugging-pipe", "--window-size=1500,900", "about:blank")
	cmd.ExtraFiles = []*os.File{inRead, outWrite}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = inRead.Close(), outWrite.Close()
	b := &Browser{t: t, to: inWrite, replies: make(chan message, 1024)}
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

func (b *Browser) send(method string, params any) int {
	b.next++
	raw, _ := json.Marshal(params)
	text, _ := json.Marshal(message{ID: b.next, Method: method, Params: raw, Tab: b.tab})
	_, _ = b.to.Write(append(text, 0))
	return b.next
}

// Call calls a method of the protocol and waits for its result.
func (b *Browser) Call(method string, params, result any) {
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
				b.URLs = append(b.URLs, p.Request.URL)
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

// Open shows an address in a new tab.
func (b *Browser) Open(url string) {
	b.t.Helper()
	var target struct{ TargetID string }
	b.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		Tab string `json:"sessionId"`
	}
	b.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.tab = attached.Tab
	b.Call("Network.enable", map[string]any{}, nil)
	b.Call("Page.enable", map[string]any{}, nil)
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1500, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.Call("Page.navigate", map[string]any{"url": url}, nil)
}

// Await waits for a text that is not empty, the value of an expression on the page.
func (b *Browser) Await(expression string) string {
	b.t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text := b.Eval(expression); text != "" {
			return text
		}
	}
	b.t.Fatalf("%s: still empty after a minute", expression)
	return ""
}

// Picture saves a screenshot as name.png in the folder NEMO_LENS_TEST_SCREENSHOTS, if the
// caller of the tests has set it.
func (b *Browser) Picture(name string) {
	b.t.Helper()
	dir := os.Getenv("NEMO_LENS_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)); err != nil {
		b.t.Fatal(err)
	}
}

// Eval is the text of a value on the page.
func (b *Browser) Eval(expression string) string {
	b.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": "String(" + expression + ")", "returnByValue": true}, &out)
	if out.ExceptionDetails != nil {
		b.t.Fatalf("%s: %v", expression, out.ExceptionDetails)
	}
	text, _ := out.Result.Value.(string)
	return text
}

// Frame waits until what was asked for is drawn.
func (b *Browser) Frame() {
	b.t.Helper()
	b.Call("Runtime.evaluate", map[string]any{
		"expression":   "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))",
		"awaitPromise": true,
	}, nil)
}

// Mouse sends an event of the mouse.
func (b *Browser) Mouse(kind string, x, y float64, more map[string]any) {
	b.t.Helper()
	params := map[string]any{"type": kind, "x": x, "y": y}
	for k, v := range more {
		params[k] = v
	}
	b.Call("Input.dispatchMouseEvent", params, nil)
}

// Click clicks.
func (b *Browser) Click(x, y float64) {
	b.t.Helper()
	button := map[string]any{"button": "left", "clickCount": 1}
	b.Mouse("mousePressed", x, y, button)
	b.Mouse("mouseReleased", x, y, button)
}

// Key presses a key.
func (b *Browser) Key(key string) {
	b.t.Helper()
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": key}, nil)
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}
