package sampler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/nemo-lens/lens/internal/identity/nvidia"
)

func TestParseDevices(t *testing.T) {
	t.Parallel()
	text := strings.Join([]string{
		"0, GPU-a, 50, 100, 1000",
		"",
		"1, GPU-b, [N/A], 100, 1000",
		"2, GPU-c, 50, 100",
		"3, GPU-d, 50, 100, 1000, 1",
		"x, GPU-e, 50, 100, 1000",
		"-1, GPU-f, 50, 100, 1000",
		"4, [N/A], 50, 100, 1000",
		"5, GPU-g, NaN, 100, 1000",
		"6, GPU-h, 50, -1, Inf",
		"WARNING: infoROM is corrupted at gpu 0000:17:00.0",
		"  8 ,GPU-j,0,0.5,81920\r",
	}, "\n")
	want := "[{0 GPU-a 50 100 1000} {1 GPU-b NaN 100 1000} {4  50 100 1000} {5 GPU-g NaN 100 1000} {6 GPU-h 50 NaN NaN} {8 GPU-j 0 0.5 81920}]"
	assert.Equal(t, want, fmt.Sprint(ParseDevices(text)))
	assert.Empty(t, ParseDevices(""))
}

func FuzzParseDevices(f *testing.F) {
	f.Add("0, GPU-a, 50, 100, 1000\n1, GPU-b, [N/A], 1, 2\n")
	f.Add(",,,,\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range ParseDevices(text) {
			if d.Index < 0 || d.Utilization < 0 || math.IsInf(d.MemoryTotal, 0) {
				t.Errorf("%q gave %+v", text, d)
			}
		}
	})
}

func FuzzSelect(f *testing.F) {
	for _, s := range []string{"", "0,1", "GPU-a,MIG-b", "0,GPU-a", " 0 , ,1", "-1", "99999999999999999999"} {
		f.Add(s)
	}
	devices := []Device{{Index: 0, UUID: "GPU-a"}, {Index: 3}}
	f.Fuzz(func(t *testing.T, s string) {
		if got := Select(s).Of(devices); len(got) > 2 {
			t.Errorf("%q selects %v", s, got)
		}
	})
}

func TestFieldC9Select(t *testing.T) {
	t.Parallel()
	devices := []Device{{Index: 0, UUID: "GPU-a"}, {Index: 1, UUID: "GPU-bb"}, {Index: 2, UUID: "GPU-c"}}
	for visible, want := range map[string][]int{
		"":                     nil,
		"1":                    {1},
		" 0 , 2 ":              {0, 2},
		"0,,1":                 {0},
		"0,-1,1":               {0},
		"GPU-b":                {1},
		"GPU-":                 nil,
		"0,GPU-bb":             {0},
		"-1":                   nil,
		"NoDevFiles":           nil,
		"7":                    nil,
		"99999999999999999999": nil,
		"MIG-GPU-c/1/0":        {2},
	} {
		var got []int
		for _, d := range Select(visible).Of(devices) {
			got = append(got, d.Index)
		}
		assert.Equal(t, want, got, "%q", visible)
	}
	assert.Equal(t, devices, Selection{}.Of(devices))
}

func TestFieldC10WhatIsKnownIsKept(t *testing.T) {
	t.Parallel()
	m, r := newMeter(t), &counted{}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=warn")
	out, err := cmd.Output()
	require.Error(t, err)
	r.set(string(out), fmt.Errorf("lens: run nvidia-smi: %w", err))
	var log bytes.Buffer
	g := newGPU(t, m, GPUConfig{Run: r.run, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.True(t, g.sample(background))
	require.True(t, g.sample(background))
	assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
	assert.Contains(t, log.String(), "exit status 14")
	got := map[string]float64{}
	for k, p := range m.gauges(t) {
		got[k] = p.Value
	}
	a, b := "{nemo.gym.gpu.index=0,nemo.gym.gpu.uuid=GPU-a}", "{nemo.gym.gpu.index=1}"
	assert.Equal(t, map[string]float64{
		GPUUtilizationName + a: 50, GPUMemoryUsedName + a: 100, GPUMemoryTotalName + a: 1000,
		GPUMemoryUsedName + b: 7, GPUMemoryTotalName + b: 8,
	}, got)
	sum, ok := g.UtilizationSum()
	assert.True(t, ok)
	assert.InDelta(t, 50, sum, 0)
}

// counted is a Runner that answers with what the test says, and counts.
type counted struct {
	calls atomic.Int32
	mu    sync.Mutex
	out   string
	err   error
}

func (c *counted) run(context.Context) ([]byte, error) {
	c.calls.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	return []byte(c.out), c.err
}

func (c *counted) set(out string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out, c.err = out, err
}

func newGPU(t testing.TB, m *meter, cfg GPUConfig) *GPU {
	t.Helper()
	g, err := NewGPU(m.provider.Meter("test"), cfg)
	require.NoError(t, err)
	t.Cleanup(g.Stop)
	return g
}

func TestOnlySelectedDevicesAreRecorded(t *testing.T) {
	t.Parallel()
	m, r := newMeter(t), &counted{}
	r.set("0, GPU-a, 50, 100, 1000\n1, GPU-b, 30, 200, 2000\n2, GPU-c, 7, 1, 2\n", nil)
	g := newGPU(t, m, GPUConfig{Run: r.run, Visible: Select("0,1"), Interval: time.Hour})
	_, ok := g.UtilizationSum()
	assert.False(t, ok)
	g.Start()
	require.Eventually(t, func() bool { _, ok := g.UtilizationSum(); return ok }, 30*time.Second, time.Millisecond)
	sum, _ := g.UtilizationSum()
	assert.InDelta(t, 80, sum, 0)
	points := m.gauges(t)
	got := map[string]float64{}
	for k, p := range points {
		got[k] = p.Value
		assert.Empty(t, p.Exemplars)
	}
	a, b := "{nemo.gym.gpu.index=0,nemo.gym.gpu.uuid=GPU-a}", "{nemo.gym.gpu.index=1,nemo.gym.gpu.uuid=GPU-b}"
	assert.Equal(t, map[string]float64{
		GPUUtilizationName + a: 50, GPUMemoryUsedName + a: 100, GPUMemoryTotalName + a: 1000,
		GPUUtilizationName + b: 30, GPUMemoryUsedName + b: 200, GPUMemoryTotalName + b: 2000,
	}, got)
	g.Stop()
	assert.Len(t, m.gauges(t), 6, "still there for the final flush")
	require.NoError(t, g.Unregister())
	assert.Empty(t, m.gauges(t))
}

func TestMissingProgramIsStickyAfterOneCall(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	var calls atomic.Int32
	var log bytes.Buffer
	g := newGPU(t, m, GPUConfig{Interval: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil)), Run: func(ctx context.Context) ([]byte, error) {
		calls.Add(1)
		return nvidia.Run(ctx, "no-such-program-anywhere")
	}})
	g.Start()
	<-g.ended // by itself
	g.Start()
	g.Stop()
	g.Start()
	g.Stop()
	assert.EqualValues(t, 1, calls.Load())
	assert.Contains(t, log.String(), "does not exist")
	_, ok := g.UtilizationSum()
	assert.False(t, ok)
}

func TestOtherFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"exit":    &exec.ExitError{},
		"timeout": context.DeadlineExceeded,
		"other":   errors.New("no driver"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, r := newMeter(t), &counted{}
			r.set("", failure)
			g := newGPU(t, m, GPUConfig{Run: r.run, Interval: time.Millisecond})
			g.Start()
			require.Eventually(t, func() bool { return r.calls.Load() >= 3 }, 30*time.Second, time.Millisecond)
			_, ok := g.UtilizationSum()
			assert.False(t, ok)
			r.set("0, GPU-a, 50, 100, 1000", nil)
			require.Eventually(t, func() bool { sum, _ := g.UtilizationSum(); return sum == 50 }, 30*time.Second, time.Millisecond)
			r.set("", failure)
			n := r.calls.Load()
			require.Eventually(t, func() bool { return r.calls.Load() > n+1 }, 30*time.Second, time.Millisecond)
			sum, _ := g.UtilizationSum()
			assert.InDelta(t, 50, sum, 0, "the sample before stays")
		})
	}
}

func TestStartAndStopAreIdempotent(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	in, out := make(chan struct{}, 9), make(chan struct{})
	g := newGPU(t, m, GPUConfig{Interval: time.Hour, Run: func(ctx context.Context) ([]byte, error) {
		in <- struct{}{}
		<-ctx.Done() // as a program that is killed
		close(out)
		return nil, ctx.Err()
	}})
	g.Stop() // without Start
	var all sync.WaitGroup
	for range 5 {
		all.Go(g.Start)
	}
	all.Wait()
	<-in
	for range 5 {
		all.Go(g.Stop)
	}
	all.Wait()
	<-out
	assert.Empty(t, in, "one goroutine, one sample at once")
}

func TestStopDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	in, letGo := make(chan struct{}), make(chan struct{})
	g := newGPU(t, m, GPUConfig{Run: func(context.Context) ([]byte, error) {
		close(in)
		<-letGo // deaf to its context
		return nil, errors.New("late")
	}})
	g.Start()
	<-in
	ended := g.ended
	began := time.Now()
	g.Stop()
	assert.GreaterOrEqual(t, time.Since(began), stopTimeout)
	close(letGo)
	<-ended
}

func TestRunsHaveATimeLimit(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	g := newGPU(t, m, GPUConfig{Run: func(ctx context.Context) ([]byte, error) {
		deadline, ok := ctx.Deadline()
		assert.True(t, ok)
		assert.LessOrEqual(t, time.Until(deadline), runTimeout)
		return nil, nil
	}})
	assert.True(t, g.sample(background))
}

func TestRealPrograms(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	run := func(ctx context.Context, role string) (string, error) {
		t.Setenv(roleVar, role)
		out, err := nvidia.Run(ctx, exe)
		return string(out), err
	}
	out, err := run(background, "answer")
	require.NoError(t, err)
	assert.Equal(t, []Device{{0, "GPU-a", 50, 100, 1000}}, ParseDevices(out))

	_, err = run(background, "fail")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 9, exit.ExitCode())
	assert.NotContains(t, err.Error(), "no driver", "what a program says is its own business")

	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	_, err = run(ctx, "hang")
	require.Error(t, err)

	_, err = run(background, "flood")
	require.Error(t, err)
}

func TestNVIDIASMIAsksForFiveFields(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell script")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf '0, GPU-a, 1, 2, 3\\n# %s\\n' \"$*\"\n"
	syscall.ForkLock.RLock() // a process started meanwhile would have it open: "text file busy"
	err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(script), 0o755)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := NVIDIASMI(background)
	require.NoError(t, err)
	assert.Equal(t, []Device{{0, "GPU-a", 1, 2, 3}}, ParseDevices(string(out)))
	assert.Contains(t, string(out), "# --query-gpu=index,uuid,utilization.gpu,memory.used,memory.total --format=csv,noheader,nounits")

	t.Setenv("PATH", t.TempDir())
	_, err = NVIDIASMI(background)
	require.ErrorIs(t, err, exec.ErrNotFound)
}

func TestNewGPURefuses(t *testing.T) {
	t.Parallel()
	run := func(context.Context) ([]byte, error) { return nil, nil }
	_, err := NewGPU(noop.Meter{}, GPUConfig{})
	require.ErrorContains(t, err, "pass sampler.NVIDIASMI")
	_, err = NewGPU(nil, GPUConfig{Run: run})
	require.ErrorContains(t, err, "needs a meter")
	_, err = NewGPU(noop.Meter{}, GPUConfig{Run: run, Interval: -1})
	require.ErrorContains(t, err, "want more than 0")
	_, err = NewGPU(refusing{}, GPUConfig{Run: run})
	require.ErrorIs(t, err, errRefused)
	for _, name := range []string{GPUUtilizationName, GPUMemoryUsedName, GPUMemoryTotalName} {
		require.ErrorContains(t, err, fmt.Sprintf("lens: create %s", name))
	}
	_, err = NewGPU(callbackRefusing{}, GPUConfig{Run: run})
	require.ErrorIs(t, err, errRefused)
}
