package connpool

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// The limits of a server process group that sets none.
const (
	DefaultLimit        = 102400
	DefaultLimitPerHost = 1024
)

// Settings is the pool as a run configures it, for one group of equal server processes. Field comments give the
// key of the run's configuration.
type Settings struct {
	Limit        int // global_aiohttp_connector_limit; 0 is no limit
	LimitPerHost int // global_aiohttp_connector_limit_per_host; 0 is no limit

	// What the run intends to have under way, above 0, or nil where it does not say.
	IntendedConcurrency        *int // global_aiohttp_intended_concurrency
	IntendedConcurrencyPerHost *int // global_aiohttp_intended_concurrency_per_host

	// Workers is the number of processes that share the limits. One Go process needs no workers: it is 1.
	Workers int
}

// DefaultSettings returns the default limits for one worker.
func DefaultSettings() Settings {
	return Settings{Limit: DefaultLimit, LimitPerHost: DefaultLimitPerHost, Workers: 1}
}

// Capacity is what the settings mean for one worker. 0 is no limit, and an intention that was not stated.
type Capacity struct {
	Workers         int
	Limits          Limits // floor of the group's limits over the workers
	EnforcedPerHost int    // the lower of the two limits
	Intended        int    // ceiling of the group's intentions over the workers
	IntendedPerHost int

	AggregateIntendedPerHost int // of all workers together: they share the host's ports
}

// Capacity divides the settings among the workers. All that is wrong with them is in the one error.
func (s Settings) Capacity() (Capacity, error) {
	var errs []error
	bad := func(key string, value int, want string) {
		errs = append(errs, fmt.Errorf("lens: %s=%d: want %s", key, value, want))
	}
	if s.Workers < 1 {
		bad("workers", s.Workers, "at least 1")
	}
	limit := func(key string, value int) int {
		switch {
		case value < 0:
			bad(key, value, "a whole number of at least 0, where 0 is no limit")
		case value > 0 && s.Workers > value:
			bad(key, value, fmt.Sprintf("0 for no limit, or at least one connection for each of the %d workers", s.Workers))
		case s.Workers > 0:
			return value / s.Workers
		}
		return 0
	}
	intention := func(key string, value *int) int {
		switch {
		case value == nil:
		case *value <= 0:
			bad(key, *value, "a whole number above 0, or no value")
		case s.Workers > 0:
			return (*value-1)/s.Workers + 1
		}
		return 0
	}
	c := Capacity{
		Workers: s.Workers,
		Limits: Limits{
			Total:   limit("global_aiohttp_connector_limit", s.Limit),
			PerHost: limit("global_aiohttp_connector_limit_per_host", s.LimitPerHost),
		},
		Intended:        intention("global_aiohttp_intended_concurrency", s.IntendedConcurrency),
		IntendedPerHost: intention("global_aiohttp_intended_concurrency_per_host", s.IntendedConcurrencyPerHost),
	}
	if len(errs) > 0 {
		return Capacity{}, errors.Join(errs...)
	}
	c.EnforcedPerHost = c.Limits.PerHost
	if t := c.Limits.Total; t > 0 && (c.EnforcedPerHost == 0 || t < c.EnforcedPerHost) {
		c.EnforcedPerHost = t
	}
	if s.IntendedConcurrencyPerHost != nil {
		c.AggregateIntendedPerHost = *s.IntendedConcurrencyPerHost
	}
	return c, nil
}

// Host is what the operating system allows. 0 is unknown or no limit, and warns about nothing.
type Host struct {
	FDLimit uint64 // soft limit on open file descriptors of this process
	Ports   int    // size of the range of ephemeral ports: connections to one address and port at once
}

// Warnings compares the intentions with the limits of the pool and of the host: first those about the pool (its
// limits and the ports), then, apart from them, the one about file descriptors.
func (c Capacity) Warnings(h Host) (pool []string, fd string) {
	warn := func(format string, args ...any) { pool = append(pool, fmt.Sprintf(format, args...)) }
	if c.Limits.Total > 0 && c.Intended > c.Limits.Total {
		warn("intended concurrency of %d is above the total limit of %d: the rest will queue; raise global_aiohttp_connector_limit", c.Intended, c.Limits.Total)
	}
	if c.EnforcedPerHost > 0 && c.IntendedPerHost > c.EnforcedPerHost {
		warn("intended concurrency of %d to one host is above the enforced limit of %d: the rest will queue; raise global_aiohttp_connector_limit_per_host or the total", c.IntendedPerHost, c.EnforcedPerHost)
	}
	if h.Ports > 0 && c.AggregateIntendedPerHost > h.Ports {
		warn("intended concurrency of %d to one host over all workers is above the %d ephemeral ports: connections will fail; widen net.ipv4.ip_local_port_range", c.AggregateIntendedPerHost, h.Ports)
	}
	// An operating system that knows no limit reports the largest number or nothing.
	if c.Intended > 0 && h.FDLimit > 0 && uint64(c.Intended) >= h.FDLimit {
		fd = fmt.Sprintf("intended concurrency of %d needs more than the %d file descriptors this process may open; raise ulimit -n", c.Intended, h.FDLimit)
	}
	return pool, fd
}

// Reporter logs what settings mean, once for each distinct settings. The zero value is ready.
type Reporter struct {
	mu   sync.Mutex
	seen map[reportKey]bool
	host func() Host // nil: ReadHost
}

type reportKey struct{ limit, perHost, intended, intendedPerHost, workers int }

// Report computes the capacity and logs it to log, with one warning for the pool and another for file descriptors
// where they are due. Settings that were reported before are computed again and not logged. A nil log logs nothing.
func (r *Reporter) Report(log *slog.Logger, s Settings) (Capacity, error) {
	c, err := s.Capacity()
	if err != nil || log == nil || !r.first(s) {
		return c, err
	}
	read := r.host
	if read == nil {
		read = ReadHost
	}
	h := read()
	log.Info("lens: connection pool capacity",
		"workers", c.Workers, "limit", c.Limits.Total, "limit_per_host", c.Limits.PerHost, "enforced_per_host", c.EnforcedPerHost,
		"intended", c.Intended, "intended_per_host", c.IntendedPerHost, "aggregate_intended_per_host", c.AggregateIntendedPerHost,
		"fd_soft_limit", h.FDLimit, "ephemeral_ports", h.Ports)
	pool, fd := c.Warnings(h)
	if len(pool) > 0 {
		log.Warn("lens: connection pool is smaller than what is intended: " + strings.Join(pool, "; "))
	}
	if fd != "" {
		log.Warn("lens: file descriptors are fewer than what is intended: " + fd)
	}
	return c, nil
}

func (r *Reporter) first(s Settings) bool {
	value := func(p *int) int {
		if p == nil {
			return 0
		}
		return *p
	}
	key := reportKey{s.Limit, s.LimitPerHost, value(s.IntendedConcurrency), value(s.IntendedConcurrencyPerHost), s.Workers}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[key] {
		return false
	}
	if r.seen == nil {
		r.seen = make(map[reportKey]bool)
	}
	r.seen[key] = true
	return true
}
