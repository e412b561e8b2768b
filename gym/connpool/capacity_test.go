package connpool

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCapacityArithmetic(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   Settings
		want Capacity
	}{
		{DefaultSettings(), Capacity{Workers: 1, Limits: Limits{102400, 1024}, EnforcedPerHost: 1024}},
		{Settings{Limit: 10, LimitPerHost: 7, Workers: 3}, Capacity{Workers: 3, Limits: Limits{3, 2}, EnforcedPerHost: 2}},
		{Settings{Limit: 0, LimitPerHost: 7, Workers: 3}, Capacity{Workers: 3, Limits: Limits{0, 2}, EnforcedPerHost: 2}},
		{Settings{Limit: 10, LimitPerHost: 0, Workers: 3}, Capacity{Workers: 3, Limits: Limits{3, 0}, EnforcedPerHost: 3}},
		{Settings{Limit: 10, LimitPerHost: 100, Workers: 1}, Capacity{Workers: 1, Limits: Limits{10, 100}, EnforcedPerHost: 10}},
		{Settings{Workers: 5}, Capacity{Workers: 5}},
		{Settings{Limit: 3, LimitPerHost: 3, Workers: 3}, Capacity{Workers: 3, Limits: Limits{1, 1}, EnforcedPerHost: 1}},
		{
			Settings{Limit: 100, LimitPerHost: 50, Workers: 4, IntendedConcurrency: new(9), IntendedConcurrencyPerHost: new(8)},
			Capacity{Workers: 4, Limits: Limits{25, 12}, EnforcedPerHost: 12, Intended: 3, IntendedPerHost: 2, AggregateIntendedPerHost: 8},
		},
		{
			Settings{Workers: 2, IntendedConcurrency: new(math.MaxInt), IntendedConcurrencyPerHost: new(1)},
			Capacity{Workers: 2, Intended: math.MaxInt/2 + 1, IntendedPerHost: 1, AggregateIntendedPerHost: 1},
		},
	} {
		got, err := tc.in.Capacity()
		require.NoError(t, err)
		assert.Equal(t, tc.want, got)
	}
}

func TestCapacityErrorsNameEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := Settings{Limit: -1, LimitPerHost: 2, Workers: 3, IntendedConcurrency: new(0), IntendedConcurrencyPerHost: new(-4)}.Capacity()
	require.Error(t, err)
	assert.Equal(t, strings.Join([]string{
		"lens: global_aiohttp_connector_limit=-1: want a whole number of at least 0, where 0 is no limit",
		"lens: global_aiohttp_connector_limit_per_host=2: want 0 for no limit, or at least one connection for each of the 3 workers",
		"lens: global_aiohttp_intended_concurrency=0: want a whole number above 0, or no value",
		"lens: global_aiohttp_intended_concurrency_per_host=-4: want a whole number above 0, or no value",
	}, "\n"), err.Error())
	_, err = Settings{Limit: 1, LimitPerHost: 1}.Capacity()
	require.EqualError(t, err, "lens: workers=0: want at least 1")
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	plenty := Host{FDLimit: 1 << 20, Ports: 28232}
	for name, tc := range map[string]struct {
		in   Settings
		host Host
		pool []string // what each warning must contain
		fd   bool
	}{
		"nothing intended":       {Settings{Limit: 1, LimitPerHost: 1, Workers: 1}, Host{FDLimit: 1, Ports: 1}, nil, false},
		"everything fits":        {Settings{Limit: 10, LimitPerHost: 10, Workers: 1, IntendedConcurrency: new(10), IntendedConcurrencyPerHost: new(10)}, plenty, nil, false},
		"above the total":        {Settings{Limit: 10, Workers: 1, IntendedConcurrency: new(11)}, plenty, []string{"total limit of 10"}, false},
		"above the host's":       {Settings{LimitPerHost: 10, Workers: 1, IntendedConcurrencyPerHost: new(11)}, plenty, []string{"enforced limit of 10"}, false},
		"enforced by the total":  {Settings{Limit: 10, LimitPerHost: 99, Workers: 1, IntendedConcurrencyPerHost: new(11)}, plenty, []string{"enforced limit of 10"}, false},
		"unlimited":              {Settings{Workers: 1, IntendedConcurrency: new(999999), IntendedConcurrencyPerHost: new(9999)}, plenty, nil, false},
		"ports, of all workers":  {Settings{Workers: 4, IntendedConcurrencyPerHost: new(28233)}, plenty, []string{"28233 to one host over all workers is above the 28232 ephemeral ports"}, false},
		"ports, just enough":     {Settings{Workers: 4, IntendedConcurrencyPerHost: new(28232)}, plenty, nil, false},
		"ports unknown":          {Settings{Workers: 1, IntendedConcurrencyPerHost: new(1 << 30)}, Host{FDLimit: 5}, nil, false},
		"descriptors, equal":     {Settings{Workers: 1, IntendedConcurrency: new(1024)}, Host{FDLimit: 1024}, nil, true},
		"descriptors, one less":  {Settings{Workers: 1, IntendedConcurrency: new(1023)}, Host{FDLimit: 1024}, nil, false},
		"descriptors, no limit":  {Settings{Workers: 1, IntendedConcurrency: new(1 << 30)}, Host{}, nil, false},
		"descriptors per worker": {Settings{Workers: 2, IntendedConcurrency: new(1024)}, Host{FDLimit: 1024}, nil, false},
		"everything is short": {
			Settings{Limit: 1, LimitPerHost: 1, Workers: 1, IntendedConcurrency: new(9), IntendedConcurrencyPerHost: new(9)}, Host{FDLimit: 9, Ports: 8},
			[]string{"total limit", "enforced limit", "ephemeral ports"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := tc.in.Capacity()
			require.NoError(t, err)
			pool, fd := c.Warnings(tc.host)
			require.Len(t, pool, len(tc.pool))
			for i, want := range tc.pool {
				assert.Contains(t, pool[i], want)
			}
			assert.Equal(t, tc.fd, fd != "")
		})
	}
}

func TestReportOnceForEachSettings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	r := Reporter{host: func() Host { return Host{FDLimit: 64, Ports: 100} }}
	small := Settings{Limit: 10, LimitPerHost: 10, Workers: 1, IntendedConcurrency: new(64)}
	for range 3 {
		small.IntendedConcurrency = new(64) // another pointer, the same settings
		_, err := r.Report(log, small)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, strings.Count(out.String(), "connection pool capacity"))
	assert.Equal(t, 1, strings.Count(out.String(), "pool is smaller"))
	assert.Equal(t, 1, strings.Count(out.String(), "file descriptors are fewer"))
	assert.Contains(t, out.String(), "fd_soft_limit=64 ephemeral_ports=100")

	small.Workers = 2
	_, err := r.Report(log, small)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(out.String(), "connection pool capacity"))

	_, err = r.Report(log, Settings{})
	require.Error(t, err)
	c, err := r.Report(nil, DefaultSettings())
	require.NoError(t, err)
	assert.Equal(t, 1024, c.EnforcedPerHost)
	_, err = r.Report(log, DefaultSettings())
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(out.String(), "connection pool capacity"), "reporting to nobody is no report")
}

func TestReadHost(t *testing.T) {
	t.Parallel()
	h := ReadHost()
	if runtime.GOOS != "linux" {
		return
	}
	assert.Positive(t, h.FDLimit)
	text, err := os.ReadFile("/proc/self/limits")
	require.NoError(t, err)
	var soft string
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
			soft = strings.Fields(rest)[0]
		}
	}
	if soft != "unlimited" {
		assert.Equal(t, soft, strconv.FormatUint(h.FDLimit, 10))
	}
	if _, err := os.Stat(portRangeFile); err == nil {
		assert.Positive(t, h.Ports)
	}
}

func FuzzParsePortRange(f *testing.F) {
	for _, s := range []string{"32768\t60999\n", "1 1", "2 1", "", "a b", "1 2 3", "0 65535", "-1 5", "1 65536"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n := parsePortRange(s); n < 0 || n > 65536 {
			t.Errorf("parsePortRange(%q) = %d", s, n)
		}
	})
}

func TestParsePortRange(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"32768\t60999\n": 28232, "1 1": 1, "0 65535": 65536, "2 1": 0, "": 0, "x y": 0, "1": 0, "1 99999": 0} {
		assert.Equal(t, want, parsePortRange(in), "%q", in)
	}
}
