package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/nemo-lens/lens"
)

// fleet is the server processes of a run.
type fleet struct {
	servers []*process // in the order of their starts
	stderr  *lines
	died    func(error) // called when one ends that was not asked to
}

// process is one of them.
type process struct {
	name, kind string
	url        string // once it listens
	cmd        *exec.Cmd
	stdin      io.Closer
	listens    chan struct{} // closed when url is known
	ended      chan struct{} // closed when the process has ended and what follows is known
	stats      *lens.Stats   // nil when it did not come so far
	err        error

	mu       sync.Mutex
	stopping bool
}

// start starts a server from the program's own binary.
func (f *fleet) start(name, kind string, env []string, peers map[string]string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the program's own file: %w", err)
	}
	args := []string{asServer, "-name=" + name}
	for _, p := range slices.Sorted(maps.Keys(peers)) {
		args = append(args, "-peer="+p+"="+peers[p])
	}
	p := &process{name: name, kind: kind, cmd: exec.Command(self, args...), listens: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Env = env
	said := f.stderr.of(name)
	p.cmd.Stderr = said
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.stdin = stdin
	f.servers = append(f.servers, p)
	go func() {
		p.follow(stdout)
		said.flush()
		close(p.ended)
		if !p.isStopping() {
			f.died(fmt.Errorf("%s ended by itself: %w", name, errors.Join(p.err, errEarly)))
		}
	}()
	return p, nil
}

var errEarly = errors.New("the run was not over")

// follow reads what the process says, and waits for it.
func (p *process) follow(stdout io.Reader) {
	dec := json.NewDecoder(stdout)
	for {
		var m message
		err := dec.Decode(&m)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.err = fmt.Errorf("%s said what the supervisor does not understand: %w", p.name, err)
				_, _ = io.Copy(io.Discard, stdout)
			}
			break
		}
		if m.URL != "" && p.url == "" {
			p.url = m.URL
			close(p.listens)
		}
		if m.Stats != nil {
			p.stats = m.Stats
		}
	}
	if err := p.cmd.Wait(); err != nil {
		p.err = errors.Join(p.err, fmt.Errorf("%s: %w", p.name, err))
	}
}

// address waits until the server listens.
func (p *process) address(ctx context.Context) (string, error) {
	select {
	case <-p.listens:
		return p.url, nil
	case <-p.ended:
		return "", fmt.Errorf("%s did not start: %w", p.name, errors.Join(p.err, errEarly))
	case <-ctx.Done():
		return "", endedEarly(ctx)
	}
}

// healthy probes the server until it answers. It uses a client without spans.
func (p *process) healthy(ctx context.Context, client *http.Client) error {
	url, err := p.address(ctx)
	if err != nil {
		return err
	}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-p.ended:
			return fmt.Errorf("%s did not start: %w", p.name, errors.Join(p.err, errEarly))
		case <-ctx.Done():
			return endedEarly(ctx)
		}
	}
}

func (p *process) isStopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping
}

// stop asks the process to end, waits for it, and kills it when it takes too
// long: twice graceful is what it may take, and a little more.
func (p *process) stop() error {
	p.mu.Lock()
	p.stopping = true
	p.mu.Unlock()
	_ = p.cmd.Process.Signal(os.Interrupt) // not everywhere, and it may have ended
	_ = p.stdin.Close()                    // says the same
	patience := time.NewTimer(2*graceful + 2*time.Second)
	defer patience.Stop()
	select {
	case <-p.ended:
	case <-patience.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end when it was asked to, and was killed", p.name)
	}
	return p.err
}

// stop ends the servers, those that call others before the others. Further
// calls do nothing but return the same errors.
func (f *fleet) stop() error {
	var errs []error
	for _, p := range slices.Backward(f.servers) {
		errs = append(errs, p.stop())
	}
	return errors.Join(errs...)
}

// lines lets several processes write whole lines to one writer, each behind its
// name.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) of(name string) *prefixed { return &prefixed{lines: l, prefix: name + ": "} }

type prefixed struct {
	lines  *lines
	prefix string
	rest   []byte
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		end := bytes.IndexByte(p.rest, '\n')
		if end < 0 {
			return len(b), nil
		}
		p.line(p.rest[:end])
		p.rest = p.rest[end+1:]
	}
}

// flush writes what the last line break left over.
func (p *prefixed) flush() {
	if len(p.rest) > 0 {
		p.line(p.rest)
		p.rest = nil
	}
}

func (p *prefixed) line(text []byte) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	_, _ = fmt.Fprintf(p.lines.w, "%s%s\n", p.prefix, text)
}
