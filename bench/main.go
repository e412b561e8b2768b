package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// scenario is one table or a few, measured in a process of its own, because most
// tracers have state of the whole process.
type scenario struct {
	name, title string
	short       bool // part of the short set
	run         func(*run)
}

func scenarios() []scenario {
	var all []scenario
	for _, mode := range []struct {
		name, title string
		build       func(shape) table
	}{{"off", "Switched off", offTable}, {"on", "On", onTable}, {"never", "On, never sampled", neverTable}} {
		for _, s := range []shape{{0, 1}, {2, 1}, {8, 1}, {2, 5}} {
			for _, g := range []int{1, 8} {
				name := fmt.Sprintf("%s-%da-%dd-%dg", mode.name, s.attrs, s.depth, g)
				short := s == shape{2, 1} && (g == 1 || mode.name == "on") || s == shape{2, 5} && g == 1 && mode.name == "on" ||
					s == shape{0, 1} && g == 1 && mode.name == "off"
				all = append(all, scenario{name, name, short, tracers(mode.title, mode.build, s, g)})
			}
		}
	}
	for _, g := range []int{1, 2, 8, 64} {
		name := fmt.Sprintf("queue-%dg", g)
		all = append(all, scenario{name, name, true, queues(g)})
	}
	return append(all,
		scenario{"gate", "Groups and goroutines", true, gate},
		scenario{"flood", "Floods and bursts", true, floods},
		scenario{"memory", "Resident memory", false, memory},
		scenario{"training", "A training loop", true, training},
		scenario{"wire", "CPU time from start to received", true, wire},
		scenario{"flight", "cost of the flight recorder", true, flightRecorder},
		scenario{"open", "Heap of an open span", true, openSpans},
		scenario{"setup", "SetupTelemetry and Shutdown", true, setUp},
		scenario{"http-off", "HTTP middleware, spans off", true, middleware("default")},
		scenario{"http-on", "HTTP middleware, spans on", true, middleware("all")},
		scenario{"sizes", "Sizes of programs", true, sizes},
	)
}

// promisePrefix begins a line in which a process tells a promise to the one that
// started it.
const promisePrefix = "promise:"

func main() {
	full := flag.Bool("full", false, "measure every table, not only the short set")
	rounds := flag.Int("rounds", 15, "rounds of about 20 ms a subject")
	one := flag.String("table", "", "measure only this table")
	list := flag.Bool("list", false, "print the names of the tables")
	md := flag.String("md", "", "write the tables into this Markdown `file` too, between its markers")
	plot := flag.String("plot", "", "draw resident memory into this SVG `file`, with the numbers beside it as CSV; implies the table named memory")
	tiny := flag.Bool("tiny", false, "do next to nothing, to see that every scenario works")
	child := flag.Bool("child", false, "measure -table in this process (internal)")
	asReceiver := flag.Bool("receive", false, "be the receiver of another process (internal)")
	tracer := flag.String("hold", "", "be the process whose memory is measured (internal)")
	spans := flag.Int("spans", 0, "what -hold makes (internal)")
	flag.Parse()
	switch {
	case *asReceiver:
		receive()
		return
	case *tracer != "":
		hold(*tracer, *spans)
		return
	}
	r := &run{Writer: os.Stdout, rounds: *rounds, roundTime: 20 * time.Millisecond, tiny: *tiny, plot: *plot}
	if *tiny {
		r.rounds, r.roundTime = 1, time.Millisecond
	}
	var chosen []scenario
	for _, s := range scenarios() {
		switch {
		case *list:
			fmt.Println(s.name)
		case *child && s.name == *one:
			s.run(r)
			tell(r.promises)
			return
		case *one == s.name, *one == "" && (s.short || *full || s.name == "memory" && *plot != ""):
			chosen = append(chosen, s)
		}
	}
	if *list {
		return
	}
	if len(chosen) == 0 {
		fmt.Fprintf(os.Stderr, "bench: no table %q; -list prints the names\n", *one)
		os.Exit(2)
	}
	var text strings.Builder
	failed := all(chosen, os.Args[1:], &text)
	if *md != "" {
		if err := writeBetweenMarkers(*md, text.String()); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// all runs the scenarios, prints what they print as it comes, and the ratios at
// the end; the same goes to text.
func all(chosen []scenario, args []string, text *strings.Builder) (failed bool) {
	say := func(line string) {
		fmt.Println(line)
		text.WriteString(line + "\n")
	}
	say(fmt.Sprintf("%s %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0)))
	if runtime.GOMAXPROCS(0) == 1 {
		say("\nOne processor: what is measured with several goroutines is missing the price of sharing between processors; it shows only what waiting for a turn costs.")
	}
	self, err := os.Executable()
	must(err)
	var promises []promise
	for _, s := range chosen {
		cmd := exec.Command(self, append(args, "-child", "-table", s.name)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		must(err)
		must(cmd.Start())
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			note, ok := strings.CutPrefix(lines.Text(), promisePrefix)
			if !ok {
				say(lines.Text())
				continue
			}
			var p promise
			must(json.Unmarshal([]byte(note), &p))
			promises = append(promises, p)
		}
		if err := cmd.Wait(); err != nil {
			say(fmt.Sprintf("\n### %s\n\nmissing: its process ended with %v", s.title, err))
			failed = true
		}
	}
	var summary strings.Builder
	writePromises(&summary, promises)
	say(strings.TrimSuffix(summary.String(), "\n"))
	return failed
}

func tell(promises []promise) {
	for _, p := range promises {
		note, err := json.Marshal(p)
		must(err)
		fmt.Printf("%s%s\n", promisePrefix, note)
	}
}

// The tables in a Markdown file are what is between these lines.
const (
	beginMarker = "<!-- The rest up to the end marker is written by make bench-docs. -->"
	endMarker   = "<!-- end -->"
)

// writeBetweenMarkers replaces what the file has between the markers, or creates it.
func writeBetweenMarkers(file, text string) error {
	old, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		old, err = []byte(beginMarker+"\n"+endMarker+"\n"), nil
	}
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), beginMarker)
	_, after, closed := strings.Cut(rest, endMarker)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %q and %q, between which the tables go", file, beginMarker, endMarker)
	}
	return os.WriteFile(file, []byte(before+beginMarker+"\n\n"+text+"\n"+endMarker+after), 0o600)
}
