package memprofile

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
)

const (
	// DefaultInterval is the time between two samples.
	DefaultInterval = time.Second

	// DefaultBudget is the share of one core that a profiler may spend.
	DefaultBudget = 0.0008

	// Unlimited is the budget with which every sample reads everything in full.
	Unlimited = -1
)

// Target is a server: the root of a process tree.
type Target struct {
	Name string
	Type string // empty: not known, and not an attribute
	PID  int
}

// Config says what to sample. The zero value samples the host alone, each second.
type Config struct {
	Targets  []Target
	Interval time.Duration // 0: [DefaultInterval]
	Budget   float64       // share of one core, above 0; 0: [DefaultBudget]; or [Unlimited]
	ProcRoot string        // empty: [DefaultProcRoot]

	// Active tells whether samples are of use now, such as whether telemetry exports. While it reports false nothing
	// is read and no peak changes. Nil is always.
	Active func() bool

	// Logger gets failures of single samples at debug level. Nil logs nothing.
	Logger *slog.Logger
}

// Profiler samples until it is stopped. Its methods are safe for concurrent use.
type Profiler struct {
	interval time.Duration
	active   func() bool
	log      *slog.Logger
	reader   *Reader
	trees    []*tree
	pace     pace

	// Replaced by tests. A nil walker asks for a light read.
	host func() (HostMemory, error)
	tree func(*tree, *walker) reading

	control sync.Mutex // serialises Start and Stop
	done    chan struct{}
	ended   chan struct{}
	stopped bool

	published published
	recorder  metric.Registration
}

// New checks the configuration and the platform, and creates the instruments on meter. It starts nothing.
func New(meter metric.Meter, cfg Config) (*Profiler, error) {
	if meter == nil {
		return nil, errors.New("lens: no memory profile: it needs a meter")
	}
	if err := supported(runtime.GOOS, cfg.ProcRoot); err != nil {
		return nil, err
	}
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Interval < 0 {
		return nil, fmt.Errorf("lens: memory profile interval %s: want more than 0", cfg.Interval)
	}
	if cfg.Budget == 0 {
		cfg.Budget = DefaultBudget
	}
	if cfg.Budget != Unlimited && !(cfg.Budget > 0) { // the negation catches NaN
		return nil, fmt.Errorf("lens: memory profile budget %v: want a share of a core above 0, such as %v, or memprofile.Unlimited", cfg.Budget, DefaultBudget)
	}
	p := &Profiler{
		interval: cfg.Interval,
		active:   cfg.Active,
		log:      cfg.Logger,
		reader:   NewReader(cfg.ProcRoot),
	}
	if p.active == nil {
		p.active = func() bool { return true }
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Budget != Unlimited {
		p.pace.perSample = time.Duration(cfg.Budget * float64(cfg.Interval))
	}
	for _, t := range cfg.Targets {
		known := &tree{target: t}
		known.isTarget(p.reader) // from here on
		p.trees = append(p.trees, known)
	}
	p.host = p.reader.Host
	p.tree = func(t *tree, w *walker) reading {
		if w == nil {
			return t.readLight(p.reader)
		}
		return t.readFull(w, p.pace.perSample > 0)
	}
	p.published.init(cfg.Targets)
	var err error
	if p.recorder, err = p.published.register(meter); err != nil {
		return nil, err
	}
	return p, nil
}

// Start takes the first sample, in full, and goes on sampling in a goroutine until [Profiler.Stop]. Further calls do
// nothing, also after Stop.
func (p *Profiler) Start() {
	p.control.Lock()
	defer p.control.Unlock()
	if p.done != nil || p.stopped {
		return
	}
	p.done, p.ended = make(chan struct{}), make(chan struct{})
	p.sample(true)
	go p.run(p.done, p.ended)
}

// Stop ends the goroutine, waits for it, and takes a last sample in full. Further calls do nothing, nor does a call
// without Start.
func (p *Profiler) Stop() {
	p.control.Lock()
	defer p.control.Unlock()
	if p.done == nil || p.stopped {
		return
	}
	p.stopped = true
	close(p.done)
	<-p.ended
	p.sample(true)
}

// Unregister takes the profiler's series off the meter. Do that when a meter lives on without it.
func (p *Profiler) Unregister() error { return p.recorder.Unregister() }

func (p *Profiler) run(done <-chan struct{}, ended chan<- struct{}) {
	defer close(ended)
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			p.sample(false)
		}
	}
}

// sample reads the host and every tree: in full, or as many of them in full as the pace allows.
func (p *Profiler) sample(full bool) {
	if !p.active() {
		return
	}
	began := time.Now()
	p.guard("host", func() {
		h, err := p.host()
		if err != nil {
			p.log.Debug("lens: a sample of the host's memory failed", "error", err)
			return
		}
		p.published.setHost(h)
	})
	full = full || p.pace.perSample == 0
	inFull, w := 0, &walker{reader: p.reader}
	readFrom := time.Now()
	for inFull < len(p.trees) && (full || p.pace.allows(time.Since(readFrom))) {
		p.read((p.pace.next+inFull)%len(p.trees), w)
		inFull++
	}
	reading := time.Since(readFrom)
	for i := inFull; i < len(p.trees); i++ {
		p.read((p.pace.next+i)%len(p.trees), nil)
	}
	if full {
		return
	}
	p.pace.next = (p.pace.next + inFull) % max(len(p.trees), 1)
	p.pace.spent(reading, time.Since(began)-reading)
}

func (p *Profiler) read(i int, w *walker) {
	t := p.trees[i]
	p.guard(t.target.Name, func() { p.published.setTree(i, t.target.Name, p.tree(t, w)) })
}

// guard keeps one sampler's failure from the others.
func (p *Profiler) guard(what string, sample func()) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Debug("lens: a memory sample failed", "sampler", what, "panic", v)
		}
	}()
	sample()
}

// pace decides how many full reads a sample may do. What a read exceeds is paid back by the samples after it.
type pace struct {
	perSample time.Duration // 0: no limit
	credit    time.Duration
	next      int // the tree whose turn it is
}

func (p *pace) allows(spent time.Duration) bool { return spent < p.credit }

// spent settles a sample that spent time on full reads and on everything else. The rest comes out of the budget
// first, yet full reads always get a tenth, so that each tree has its turn some day.
func (p *pace) spent(full, rest time.Duration) {
	allowance := max(p.perSample-rest, p.perSample/10)
	p.credit = min(p.credit-full+allowance, allowance)
}
