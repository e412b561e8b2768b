package memprofile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func needLinux(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("reads Linux's procfs")
	}
}

// procfs is a made-up one.
type fakeProc struct {
	t    testing.TB
	root string
}

func newProc(t testing.TB) *fakeProc {
	t.Helper()
	p := &fakeProc{t, t.TempDir()}
	p.host(1000, 300)
	return p
}

func (p *fakeProc) write(text string, path ...string) {
	p.t.Helper()
	name := filepath.Join(append([]string{p.root}, path...)...)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(p.t, os.WriteFile(name, []byte(text), 0o644))
}

// host writes meminfo, in KiB.
func (p *fakeProc) host(total, available int) {
	p.write(fmt.Sprintf("MemTotal: %d kB\nMemFree: 1 kB\nMemAvailable: %d kB\n", total, available), "meminfo")
}

// process writes one with a single thread, in KiB and in pages; pss below 0 is none.
func (p *fakeProc) process(pid, rss, pss, pages int, children ...int) {
	rollup := fmt.Sprintf("558344f06000-7ffe33adf000 ---p 00000000 00:00 0   [rollup]\nRss:  %d kB\n", rss)
	if pss >= 0 {
		rollup += fmt.Sprintf("Pss:  %d kB\nPss_Dirty:  1 kB\n", pss)
	}
	dir := fmt.Sprint(pid)
	p.write(rollup+"Shared_Clean:  3 kB\n", dir, "smaps_rollup")
	p.write(fmt.Sprintf("999 %d 3 4 0 5 0\n", pages), dir, "statm")
	p.children(pid, pid, children...)
}

func (p *fakeProc) children(pid, tid int, children ...int) {
	text := strings.Trim(fmt.Sprint(children), "[]")
	if text != "" {
		text += " "
	}
	p.write(text, fmt.Sprint(pid), "task", fmt.Sprint(tid), "children")
}

func (p *fakeProc) remove(path ...string) {
	p.t.Helper()
	require.NoError(p.t, os.RemoveAll(filepath.Join(append([]string{p.root}, path...)...)))
}

func (p *fakeProc) reader() *Reader { return NewReader(p.root) }

// meter is a real SDK meter read by hand.
type meter struct {
	reader   *metric.ManualReader
	provider *metric.MeterProvider
}

func newMeter(t testing.TB) *meter {
	t.Helper()
	r := metric.NewManualReader()
	m := &meter{r, metric.NewMeterProvider(metric.WithReader(r))}
	t.Cleanup(func() { _ = m.provider.Shutdown(context.Background()) })
	return m
}

// collect returns every point as "instrument{attributes}" to value, attributes in the order of their keys.
func (m *meter) collect(t testing.TB) map[string]int64 {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, m.reader.Collect(context.Background(), &rm))
	points := map[string]int64{}
	for _, sm := range rm.ScopeMetrics {
		for _, got := range sm.Metrics {
			unit := "By"
			if got.Name == ServerProcessesName {
				unit = "{process}"
			}
			require.Equal(t, unit, got.Unit, got.Name)
			for _, p := range got.Data.(metricdata.Gauge[int64]).DataPoints {
				var attrs []string
				for _, kv := range p.Attributes.ToSlice() {
					attrs = append(attrs, string(kv.Key)+"="+kv.Value.String())
				}
				points[got.Name+"{"+strings.Join(attrs, ",")+"}"] = p.Value
			}
		}
	}
	return points
}

func (m *meter) profiler(t testing.TB, cfg Config) *Profiler {
	t.Helper()
	p, err := New(m.provider.Meter("test"), cfg)
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	return p
}
