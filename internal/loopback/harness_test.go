package loopback_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/internal/loopback"
)

// within is far more than anything here takes; reaching it is a failure.
const within = 30 * time.Second

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

func meetingFile(t *testing.T) string { return filepath.Join(t.TempDir(), "rendezvous") }

// join brings n ranks together, each with the options changed by edit.
func join(t *testing.T, n int, edit func(*loopback.Options)) []*loopback.Group {
	t.Helper()
	file := meetingFile(t)
	groups, errs := make([]*loopback.Group, n), make([]error, n)
	var joining sync.WaitGroup
	for rank := range n {
		joining.Go(func() {
			o := loopback.Options{Rank: rank, WorldSize: n, File: file}
			if edit != nil {
				edit(&o)
			}
			groups[rank], errs[rank] = loopback.Join(soon(t), o)
		})
	}
	joining.Wait()
	t.Cleanup(func() {
		for _, g := range groups {
			if g != nil {
				_ = g.Close()
			}
		}
	})
	require.NoError(t, errors.Join(errs...))
	return groups
}

// onAll runs fn on every rank at once and returns the errors in rank order.
func onAll(groups []*loopback.Group, fn func(*loopback.Group) error) []error {
	errs := make([]error, len(groups))
	var running sync.WaitGroup
	for rank, g := range groups {
		running.Go(func() { errs[rank] = fn(g) })
	}
	running.Wait()
	return errs
}
