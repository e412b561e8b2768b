//go:build unix

package wholeline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const (
	childEnv   = "WHOLELINE_TEST_CHILD"
	childLines = 40
	lineBytes  = 150_000 // over twice the default pipe buffer of 64 KiB
)

func TestMain(m *testing.M) {
	switch child := os.Getenv(childEnv); child {
	case "":
		os.Exit(m.Run())
	case "epipe":
		// Both descriptors are a pipe nobody reads.
		_, err1 := New(os.Stdout).Write([]byte("line\n"))
		_, err2 := New(os.Stderr).Write([]byte("line\n"))
		if errors.Is(err1, syscall.EPIPE) && errors.Is(err2, syscall.EPIPE) {
			os.Exit(7)
		}
		os.Exit(8)
	default:
		id, _ := strconv.Atoi(child)
		w := New(os.Stdout)
		for i := range childLines {
			size := lineBytes
			if i%2 == 1 {
				size = 100 // short lines must not land inside a long one
			}
			if _, err := w.Write(append(bytes.Repeat([]byte{byte('a' + id)}, size), '\n')); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
}

func child(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	return cmd
}

// TestProcessesSharingAPipe has four processes write lines far over PIPE_BUF
// into one pipe, as ranks under one launcher do.
func TestProcessesSharingAPipe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is known to lock pipes")
	}
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var procs []*exec.Cmd
	for id := range 4 {
		cmd := child(t, strconv.Itoa(id))
		cmd.Stdout, cmd.Stderr = w, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		procs = append(procs, cmd)
	}
	w.Close()
	lines := 0
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 8*lineBytes)
	for sc.Scan() {
		l := sc.Text()
		lines++
		if len(l) != lineBytes && len(l) != 100 || strings.Trim(l, l[:1]) != "" {
			t.Errorf("line %d is torn: %d bytes", lines, len(l))
		}
	}
	if err := sc.Err(); err != nil {
		t.Error(err)
	}
	for _, p := range procs {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	if want := len(procs) * childLines; lines != want {
		t.Errorf("%d lines, want %d", lines, want)
	}
}

func TestClosedPipeOnStandardDescriptors(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	cmd := child(t, "epipe")
	cmd.Stdout, cmd.Stderr = w, w
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("child ended with %v, want exit code 7: both writes gave EPIPE and the program went on", err)
	}
}

func TestFileErrors(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	w := New(f)
	if n, err := w.Write([]byte("line\n")); n != 5 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	f.Close()
	if _, err := w.Write([]byte("line\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed file: %v", err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	if _, err := New(full).Write([]byte("line\n")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full disk: %v", err)
	}
}

// TestNonBlockingPipe writes more than a pipe holds into one that answers
// EAGAIN although the runtime's poller does not know it.
func TestNonBlockingPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dup, err := syscall.Dup(int(w.Fd())) // Fd sets blocking mode
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	f := os.NewFile(uintptr(dup), "pipe")
	defer f.Close()
	if err := syscall.SetNonblock(dup, true); err != nil {
		t.Fatal(err)
	}
	got := make(chan int, 1)
	go func() {
		line, _ := bufio.NewReaderSize(r, 1<<20).ReadString('\n')
		got <- len(line)
	}()
	line := append(bytes.Repeat([]byte("x"), 300_000), '\n')
	if n, err := New(f).Write(line); n != len(line) || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if n := <-got; n != len(line) {
		t.Errorf("read a line of %d bytes, want %d", n, len(line))
	}
}
