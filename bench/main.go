package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
)

// scenario is a table that is measured in a process of its own, because most
// tracers have state of the whole process.
type scenario struct {
	name, title string
	short       bool // part of the short set
	run         func(w io.Writer, rounds int)
}

func spans(name, title string, short bool, build func(shape, int) table, s shape, goroutines int) scenario {
	return scenario{name, title, short, func(w io.Writer, rounds int) {
		t := build(s, goroutines)
		t.title = title
		write(w, t, t.measure(rounds))
	}}
}

func scenarios() []scenario {
	var all []scenario
	for _, mode := range []struct {
		name, title string
		build       func(shape, int) table
	}{{"off", "Switched off", offTable}, {"on", "On", onTable}, {"never", "On, never sampled", neverTable}} {
		for _, s := range []shape{{0, 1}, {2, 1}, {8, 1}, {2, 5}} {
			for _, g := range []int{1, 8} {
				name := fmt.Sprintf("%s-%da-%dd-%dg", mode.name, s.attrs, s.depth, g)
				title := fmt.Sprintf("%s: %d attributes, depth %d, %d goroutines", mode.title, s.attrs, s.depth, g)
				short := s.attrs == 2 && s.depth == 1 && (g == 1 || mode.name == "on") || s == shape{2, 5} && g == 1 && mode.name == "on"
				all = append(all, spans(name, title, short, mode.build, s, g))
			}
		}
	}
	return append(all,
		scenario{"wire", "CPU time from start to received", true, wire},
		scenario{"open", "Heap of an open span", true, openSpans},
		scenario{"setup", "SetupTelemetry and Shutdown", true, setUp},
		scenario{"http-off", "HTTP middleware, spans off", true, middleware("default")},
		scenario{"http-on", "HTTP middleware, spans on", true, middleware("all")},
		scenario{"sizes", "Sizes of programs", true, sizes},
	)
}

func main() {
	full := flag.Bool("full", false, "measure every table, not only the short set")
	rounds := flag.Int("rounds", 15, "rounds of about 20 ms a subject")
	one := flag.String("table", "", "measure this table in this process")
	list := flag.Bool("list", false, "print the names of the tables")
	asReceiver := flag.Bool("receive", false, "be the receiver of another process (internal)")
	flag.Parse()
	if *asReceiver {
		receive()
		return
	}
	for _, s := range scenarios() {
		switch {
		case *list:
			fmt.Println(s.name)
		case *one == s.name:
			s.run(os.Stdout, *rounds)
			return
		}
	}
	if *list {
		return
	}
	if *one != "" {
		fmt.Fprintf(os.Stderr, "bench: no table %q; -list prints the names\n", *one)
		os.Exit(2)
	}
	fmt.Printf("%s %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	if runtime.GOMAXPROCS(0) == 1 {
		fmt.Println("One processor: the parallel tables show only what waiting for a turn costs.")
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	failed := false
	for _, s := range scenarios() {
		if !s.short && !*full {
			continue
		}
		cmd := exec.Command(self, "-table", s.name, "-rounds", fmt.Sprint(*rounds))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Printf("\n### %s\n\nmissing: %v\n", s.title, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}
