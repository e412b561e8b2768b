package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// demo is the client, with a server that it starts from the same binary.
func demo(ctx context.Context, stderr io.Writer) (err error) {
	shutdown, err := setUp(ctx, "grpc-client", stderr)
	if err != nil {
		return err
	}
	defer shutdown()
	addr, stop, err := startServer(ctx, stderr)
	if err != nil {
		return err
	}
	return errors.Join(check(ctx, addr, "", stderr), stop())
}

// startServer returns when the server listens. stop waits until it has ended.
func startServer(ctx context.Context, stderr io.Writer) (addr string, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("the program's own file: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "serve")
	cmd.Stdout = os.Stdout // its spans, if the exporter is console
	cmd.WaitDelay = graceful
	commands, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("starting the server: %w", err)
	}
	where := make(chan string, 1)
	drained := make(chan struct{})
	go func() { // all of it, or the server would block on a full pipe
		defer close(drained)
		defer close(where)
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			fmt.Fprintln(stderr, "server:", lines.Text())
			if at, ok := strings.CutPrefix(lines.Text(), listening); ok {
				where <- at
			}
		}
	}()
	stop = func() error {
		_, _ = io.WriteString(commands, "stop\n") // fails when it has ended already, which Wait says better
		<-drained
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("the server: %w", err)
		}
		return nil
	}
	addr, ok := <-where
	if !ok {
		return "", nil, errors.Join(errors.New("the server has ended before it listened"), stop())
	}
	return addr, stop, nil
}
