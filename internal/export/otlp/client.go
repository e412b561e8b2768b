package otlp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/settings"
)

const (
	firstPause = 250 * time.Millisecond
	maxPause   = 5 * time.Second

	// maxHold is how long a receiver can keep later exports away.
	maxHold = time.Minute
)

var (
	errShutdown = errors.New("lens: the exporter is shut down")
	errTimeout  = errors.New("the time for an export is over")
)

// sender is a connection to a receiver.
type sender interface {
	// prepare returns a function that sends request once and fills response.
	// Its errors are of type *failure.
	prepare(request proto.Message) (attempt, error)

	// close ends all connections. No attempt is under way.
	close()
}

type attempt func(ctx context.Context, response proto.Message) error

// client adds the retries and the end to a sender.
type client struct {
	settings settings.OTLP
	where    string
	sender   sender

	stopped context.Context // done when exports under way must end
	stop    context.CancelFunc

	mu       sync.Mutex
	closed   bool
	underWay sync.WaitGroup
	hold     time.Time // no attempt before
	last     *failure  // of the attempts since the last success

	closing sync.Once
	done    chan struct{} // closed when nothing is left
}

func newClient(o settings.OTLP) (*client, error) {
	if o.Timeout <= 0 {
		o.Timeout = settings.DefaultTimeout
	}
	tls, err := tlsConfig(o)
	if err != nil {
		return nil, err
	}
	c := &client{settings: o, where: Describe(o), done: make(chan struct{})}
	switch o.Protocol {
	case settings.GRPC:
		c.sender = newGRPC(o, tls)
	case settings.HTTPProtobuf:
		if c.sender, err = newHTTP(o, tls); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("lens: OTLP protocol %q: want %s or %s", o.Protocol, settings.GRPC, settings.HTTPProtobuf)
	}
	c.stopped, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// Describe names the receiver and the TLS mode, as in "grpc://localhost:4317
// (plaintext)". It holds no secret.
func Describe(o settings.OTLP) string {
	if o.Insecure {
		return o.Endpoint.String() + " (plaintext)"
	}
	return o.Endpoint.String() + " (TLS)"
}

// export sends request until it is taken, cannot be, or the time is over.
func (c *client) export(ctx context.Context, request, response proto.Message) error {
	if !c.begin() {
		return errShutdown
	}
	defer c.underWay.Done()

	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, c.settings.Timeout, errTimeout)
	defer cancel()
	defer context.AfterFunc(c.stopped, cancel)()

	send, err := c.sender.prepare(request)
	if err != nil {
		return c.errorOf(&failure{text: err.Error()}, nil, 0, start)
	}
	var last *failure
	if err := sleep(ctx, time.Until(c.heldUntil())); err != nil {
		return c.errorOf(&failure{text: "the receiver asked to be left alone"}, context.Cause(ctx), 0, start)
	}
	pause := firstPause
	for tries := 1; ; tries++ {
		err := send(ctx, response)
		c.remember(err)
		if err == nil {
			return nil
		}
		f := failureOf(err)
		if ctx.Err() != nil {
			if last == nil || f.text != "" {
				last = f
			}
			return c.errorOf(last, context.Cause(ctx), tries, start)
		}
		last = f
		if !f.retry {
			return c.errorOf(f, nil, tries, start)
		}
		c.holdFor(f.after)
		wait := max(jitter(pause), f.after)
		if deadline, _ := ctx.Deadline(); time.Until(deadline) < wait {
			return c.errorOf(f, nil, tries, start)
		}
		if sleep(ctx, wait) != nil {
			return c.errorOf(f, context.Cause(ctx), tries, start)
		}
		pause = min(2*pause, maxPause)
	}
}

// remember keeps why the receiver cannot be reached, for those who stop waiting
// while an export goes on trying.
func (c *client) remember(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.last = nil
	} else if f := failureOf(err); f.text != "" {
		c.last = f
	}
}

// LastError returns why the last attempt failed, or nil when it did not, or
// there was none.
func (c *client) LastError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return nil
	}
	told := *c.last
	for _, more := range []string{told.hint, c.proxy()} {
		if more != "" {
			told.text += "; " + more
		}
	}
	return &told
}

// begin registers an export, unless the client is shut down.
func (c *client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.underWay.Add(1)
	return true
}

// shutdown lets exports under way finish, or cancels them when ctx is done first.
// Every call returns when nothing is left, and says whether exports were
// cancelled for ctx.
func (c *client) shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.closing.Do(func() {
		go func() {
			c.underWay.Wait()
			c.stop()
			c.sender.close()
			close(c.done)
		}()
	})
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
	}
	c.stop()
	<-c.done
	return ctx.Err()
}

func (c *client) heldUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hold
}

func (c *client) holdFor(d time.Duration) {
	if d <= 0 {
		return
	}
	until := time.Now().Add(min(d, maxHold))
	c.mu.Lock()
	defer c.mu.Unlock()
	if until.After(c.hold) {
		c.hold = until
	}
}

func (c *client) marshalLog() any {
	return struct{ Type, Endpoint string }{"otlp", c.where}
}

// jitter returns between half of d and one and a half.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
