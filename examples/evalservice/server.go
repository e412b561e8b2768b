package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/gym"
)

// graceful is how long a server has to finish its requests, and then to export
// what it recorded.
const graceful = 30 * time.Second

// message is what a server writes to its standard output, for the supervisor:
// where it listens, and in the end what became of its spans.
type message struct {
	URL   string      `json:"url,omitempty"`
	Stats *lens.Stats `json:"stats,omitempty"`
}

// server is one of the three server processes.
type server struct {
	definition
	client    *http.Client
	limit     *gym.Semaphore
	listening func(url string) // called before the first request
}

// runServer serves until it is interrupted, or until its standard input ends:
// the supervisor holds the other end, so that no server outlives it.
func runServer(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parseServer(args, stderr)
	if err != nil {
		return err
	}
	config, err := loadConfig(runJSON)
	if err != nil {
		return err
	}
	s := &server{definition: config.servers[o.name]}
	if s.Type == "" {
		return usageError{fmt.Errorf("-name=%q: want a server of run.json", o.name)}
	}
	line := gym.NewServerTimeline(o.name, s.Type, false)
	line.Mark(gym.StageLoadConfig)

	logger := quiet(stderr)
	h := gym.InitTelemetry(gym.WithServerName(o.name), gym.WithServerType(s.Type), gym.WithLensOptions(lens.WithLogger(logger)))
	err = s.serve(ctx, o, line, stdin, stdout)
	gym.ShutdownTelemetry(graceful)
	stats := h.Stats()
	return errors.Join(err, json.NewEncoder(stdout).Encode(message{Stats: &stats}))
}

func (s *server) serve(ctx context.Context, o serverOptions, line *gym.ServerTimeline, stdin io.Reader, stdout io.Writer) (err error) {
	line.Mark(gym.StageInitTelemetry)
	// Without metrics there is nothing to observe for, which is no fault.
	if observer, err := gym.StartObserver(); err == nil {
		defer observer.Stop()
	}
	if s.client, err = newClient(s.ConnectionsPerServer); err != nil {
		return err
	}
	defer s.client.CloseIdleConnections()
	// NeMo Gym names the limit of a model or resources server in the same way.
	site := map[string]string{gym.ServerTypeModel: "model.", gym.ServerTypeResources: "resources."}[s.Type]
	s.limit = gym.NewSemaphore(s.Concurrency, site+o.name)
	routes, err := s.routes(o)
	if err != nil {
		return err
	}
	// The supervisor's probes are outside: no spans, and no requests in the metrics.
	all := http.NewServeMux()
	all.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	all.Handle("/", gym.CountInFlight(gym.Middleware(gym.RolloutPath(routes))))
	srv := &http.Server{Handler: all, ReadHeaderTimeout: requestTimeout}
	line.ReportWhenServing(srv, gym.StageListen)
	line.Mark(gym.StageSetupWebserver)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	if s.listening != nil {
		s.listening(url)
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends with the process, when no end of the input comes
		_, _ = io.Copy(io.Discard, stdin)
		stop()
	}()
	if err := json.NewEncoder(stdout).Encode(message{URL: url}); err != nil {
		stop()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceful)
	defer cancel()
	err = srv.Shutdown(deadline)
	if serveErr := <-failed; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

func (s *server) peer(name, url string) peer { return peer{name: name, url: url, http: s.client} }

// quiet makes a log, also the process's own, that leaves out what lens says about
// itself when nothing is wrong.
func quiet(w io.Writer) *slog.Logger {
	l := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
	slog.SetDefault(l)
	return l
}
