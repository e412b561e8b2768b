package lenshttp

import (
	"net/http"

	"github.com/nemo-lens/lens"
)

// Doer sends a request: an [http.Client], or a client with retries of its own.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Client makes one client span of everything that one call of Do leads to: the
// retries of the Doer and redirects. A
// transport of [NewTransport] further in adds no span of its own. It is safe
// for concurrent use when the Doer is.
type Client struct{ sender http.RoundTripper }

// NewClient returns a client that sends with d, or with [http.DefaultClient]
// when d is nil.
func NewClient(d Doer, group lens.SpanGroup, opts ...Option) *Client {
	if d == nil {
		d = http.DefaultClient
	}
	return &Client{NewTransport(sender{d}, group, opts...)}
}

// Do sends the request and returns the response as d.Do does. The span ends
// with the response's body, as that of [NewTransport].
func (c *Client) Do(req *http.Request) (*http.Response, error) { return c.sender.RoundTrip(req) }

// CloseIdleConnections does so when the Doer can.
func (c *Client) CloseIdleConnections() { closeIdle(c.sender) }

func closeIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type sender struct{ Doer }

func (s sender) RoundTrip(req *http.Request) (*http.Response, error) { return s.Do(req) }

func (s sender) CloseIdleConnections() {
	if c, ok := s.Doer.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
