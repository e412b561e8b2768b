package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/examples/internal/children"
)

// fleet is the server processes of a run.
type fleet struct {
	servers []*process // in the order of their starts
	stderr  *children.Lines
	died    context.CancelCauseFunc // called when one ends that was not asked to
}

// process is one of them.
type process struct {
	name, kind string
	cmd        *exec.Cmd
	ask        context.CancelFunc // to end
	listens    chan struct{}      // closed once url is known
	url        string
	ended      chan struct{} // closed once the process has ended and what follows is known
	stats      *lens.Stats   // nil when it did not come so far
	err        error
}

var errEarly = errors.New("the run was not over")

// start starts a server from the program's own binary. args are its peers.
func (f *fleet) start(name, kind string, env, args []string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the program's own file: %w", err)
	}
	asked, ask := context.WithCancel(context.Background())
	p := &process{name: name, kind: kind, ask: ask, listens: make(chan struct{}), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(asked, self, append([]string{asServer, "-name=" + name}, args...)...)
	said := f.stderr.From(name + ": ")
	p.cmd.Env, p.cmd.Stderr = env, said
	stdin, stdinErr := p.cmd.StdinPipe()
	stdout, stdoutErr := p.cmd.StdoutPipe()
	// What the server may take to end in order, and a little more; then it is killed.
	p.cmd.WaitDelay = 2*graceful + 2*time.Second
	p.cmd.Cancel = func() error {
		_ = stdin.Close()        // a signal, too, could come when it listens to none any more
		return os.ErrProcessDone // so that to end in order is no error
	}
	if err := errors.Join(stdinErr, stdoutErr, p.cmd.Start()); err != nil {
		ask()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.servers = append(f.servers, p)
	go func() {
		p.follow(stdout)
		_ = said.Close()
		close(p.ended)
		if asked.Err() == nil {
			f.died(fmt.Errorf("%s ended by itself: %w", name, errors.Join(p.err, errEarly)))
		}
		ask()
	}()
	return p, nil
}

// follow reads what the process says, and waits for it.
func (p *process) follow(stdout io.Reader) {
	dec := json.NewDecoder(stdout)
	for {
		var m message
		if err := dec.Decode(&m); err != nil {
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

// await waits for something that the server does while it starts.
func await[T any](ctx context.Context, p *process, done <-chan T) error {
	select {
	case <-done:
		return nil
	case <-p.ended:
		return fmt.Errorf("%s did not start: %w", p.name, errors.Join(p.err, errEarly))
	case <-ctx.Done():
		return endedEarly(ctx)
	}
}

// healthy probes the server until it answers. It uses a client without spans.
func (p *process) healthy(ctx context.Context, client *http.Client) error {
	err := await(ctx, p, p.listens)
	for ; err == nil; err = await(ctx, p, time.After(10*time.Millisecond)) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/health", nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return err
}

// stop ends the servers one after the other, those that call others first.
func (f *fleet) stop() error {
	var errs []error
	for _, p := range slices.Backward(f.servers) {
		p.ask()
		<-p.ended
		errs = append(errs, p.err)
	}
	return errors.Join(errs...)
}
