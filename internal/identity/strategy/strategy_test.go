package strategy_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/internal/identity/strategy"
)

type vectors struct {
	RankSampling struct {
		Rows []struct {
			Rank   int
			MD5    string
			Bucket int
			Export map[string]bool
		}
		Population []struct {
			World     int `json:"world_size"`
			Rate      float64
			Exporting int
		}
	} `json:"rank_sampling_v020"`
	SingleRank struct {
		Cases []struct {
			ExportRank int   `json:"export_rank"`
			World      int   `json:"world_size"`
			Exporting  []int `json:"exporting_ranks_in_0..9_and_-1"`
		}
	} `json:"single_rank_v020"`
	FirstRank struct {
		Cases []struct {
			LocalRank *string `json:"LOCAL_RANK"`
			Result    bool
			Error     bool
			Differs   string `json:"lens_differs"`
		}
	} `json:"first_rank_per_node_v020"`
}

func load(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRankHashMatchesReference(t *testing.T) {
	t.Parallel()
	v := load(t)
	if len(v.RankSampling.Rows) == 0 || len(v.RankSampling.Population) == 0 {
		t.Fatal("no vectors")
	}
	for _, row := range v.RankSampling.Rows {
		sum := md5.Sum([]byte(strconv.Itoa(row.Rank)))
		if got := hex.EncodeToString(sum[:]); got != row.MD5 {
			t.Errorf("rank %d: md5 %s, want %s", row.Rank, got, row.MD5)
		}
		if got := strategy.Bucket(row.Rank); got != row.Bucket {
			t.Errorf("Bucket(%d) = %d, want %d", row.Rank, got, row.Bucket)
		}
		if len(row.Export) != 13 {
			t.Errorf("rank %d: %d rates, want 13", row.Rank, len(row.Export))
		}
		for text, want := range row.Export {
			rate, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := strategy.Keep(row.Rank, rate); got != want {
				t.Errorf("Keep(%d, %s) = %t, want %t", row.Rank, text, got, want)
			}
		}
	}
	for _, p := range v.RankSampling.Population {
		n := 0
		for rank := range p.World {
			if strategy.Keep(rank, p.Rate) {
				n++
			}
		}
		if n != p.Exporting {
			t.Errorf("%d ranks at %v: %d export, want %d", p.World, p.Rate, n, p.Exporting)
		}
	}
}

// The reduced-halves formula against the definition in big integers.
func TestBucketIsThe128BitModulus(t *testing.T) {
	t.Parallel()
	for _, rank := range []int{0, 1, -1, 9999, 123456789, math.MaxInt, math.MinInt} {
		sum := md5.Sum(fmt.Append(nil, rank))
		n := new(big.Int).SetBytes(sum[:])
		want := int(n.Mod(n, big.NewInt(10000)).Int64())
		if got := strategy.Bucket(rank); got != want {
			t.Errorf("Bucket(%d) = %d, want %d", rank, got, want)
		}
	}
}

func TestKeepAtTheEdges(t *testing.T) {
	t.Parallel()
	for rank := range 2000 {
		for _, rate := range []float64{0, -1, math.Inf(-1), math.NaN()} {
			if strategy.Keep(rank, rate) {
				t.Fatalf("Keep(%d, %v) = true", rank, rate)
			}
		}
		for _, rate := range []float64{1, 2, math.Inf(1)} {
			if !strategy.Keep(rank, rate) {
				t.Fatalf("Keep(%d, %v) = false", rank, rate)
			}
		}
	}
}

func TestSingleRank(t *testing.T) {
	t.Parallel()
	v := load(t)
	ranks := []int{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, c := range v.SingleRank.Cases {
		for _, rank := range ranks {
			want := slices.Contains(c.Exporting, rank)
			if got := strategy.SingleRank(c.ExportRank, rank, c.World); got != want {
				t.Errorf("SingleRank(%d, %d, %d) = %t, want %t", c.ExportRank, rank, c.World, got, want)
			}
		}
	}
}

func env(m map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

func TestFirstRankPerNodeMatchesReference(t *testing.T) {
	t.Parallel()
	differs := 0
	for _, c := range load(t).FirstRank.Cases {
		m := map[string]string{}
		if c.LocalRank != nil {
			m["LOCAL_RANK"] = *c.LocalRank
		}
		got, err := strategy.FirstRankPerNode(env(m))
		if c.Differs != "" {
			differs++
			if err != nil || !got {
				t.Errorf("%v: got %t, %v, want true: an empty LOCAL_RANK is unset", m, got, err)
			}
			continue
		}
		if (err != nil) != c.Error || got != c.Result {
			t.Errorf("%v: got %t, %v, want %t, error %t", m, got, err, c.Result, c.Error)
		}
		if err != nil && (!strings.Contains(err.Error(), "LOCAL_RANK") || !strings.Contains(err.Error(), *c.LocalRank)) {
			t.Errorf("error %q does not name the variable and its text", err)
		}
	}
	if differs != 1 {
		t.Errorf("%d cases in which lens differs, want 1", differs)
	}
}

func TestFirstRankPerNodeReadsOtherLaunchers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"SLURM_LOCALID": "3"}, false},
		{map[string]string{"SLURM_LOCALID": "0"}, true},
		{map[string]string{"LOCAL_RANK": " ", "SLURM_LOCALID": "3"}, false},
		{map[string]string{"OMPI_COMM_WORLD_LOCAL_RANK": "2"}, false},
		// mpirun inside a batch script: every process inherits the script's 0.
		{map[string]string{"OMPI_COMM_WORLD_LOCAL_RANK": "2", "SLURM_LOCALID": "0"}, false},
		{map[string]string{"MPI_LOCALRANKID": "1", "SLURM_LOCALID": "0"}, false},
		{map[string]string{"MPI_LOCALRANKID": "0"}, true},
	} {
		got, err := strategy.FirstRankPerNode(env(c.env))
		if err != nil || got != c.want {
			t.Errorf("%v: got %t, %v, want %t", c.env, got, err, c.want)
		}
	}
	if _, err := strategy.FirstRankPerNode(env(map[string]string{"SLURM_LOCALID": "x"})); err == nil || !strings.Contains(err.Error(), "SLURM_LOCALID") {
		t.Errorf("error %v does not name SLURM_LOCALID", err)
	}
}

func TestBucketAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { strategy.Bucket(4711) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// The decision must not turn into a panic where MD5 is forbidden.
func TestBucketUnderFIPSEnforcement(t *testing.T) {
	const marker = "LENS_TEST_FIPS_CHILD"
	if os.Getenv(marker) != "" {
		fmt.Printf("bucket=%d\n", strategy.Bucket(0))
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBucketUnderFIPSEnforcement$")
	cmd.Env = append(os.Environ(), marker+"=1", "GODEBUG=fips140=only")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "bucket=7850") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func BenchmarkBucket(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		strategy.Bucket(4711)
	}
}

// FC6
func TestFieldC6LocalRanks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"PALS_LOCAL_RANKID": "3"}, false},
		{map[string]string{"PALS_LOCAL_RANKID": "0"}, true},
		{map[string]string{"PMI_LOCAL_RANK": "1", "SLURM_LOCALID": "0"}, false},
		{map[string]string{"MV2_COMM_WORLD_LOCAL_RANK": "2"}, false},
		{map[string]string{"FLUX_TASK_LOCAL_ID": "2"}, false},
		{map[string]string{"PALS_LOCAL_RANKID": `"2"`}, false},
		// One torchrun a task: LOCAL_RANK is 0 in all of them.
		{map[string]string{"LOCAL_RANK": "0", "SLURM_LOCALID": "2"}, false},
		{map[string]string{"LOCAL_RANK": "0", "SLURM_LOCALID": "0"}, true},
		{map[string]string{"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "WORLD_SIZE": "8", "SLURM_LOCALID": "2"}, false},
		{map[string]string{"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}, false},
		{map[string]string{"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "8", "SLURM_LOCALID": "0"}, false},
		// A torchrun that is a job of its own, in one of several tasks.
		{map[string]string{"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "4", "WORLD_SIZE": "4", "SLURM_LOCALID": "1"}, true},
	} {
		got, err := strategy.FirstRankPerNode(env(c.env))
		if err != nil || got != c.want {
			t.Errorf("%v: got %t, %v, want %t", c.env, got, err, c.want)
		}
	}
	_, err := strategy.FirstRankPerNode(env(map[string]string{"LOCAL_RANK": "0", "PALS_LOCAL_RANKID": "x"}))
	if err == nil || !strings.Contains(err.Error(), `PALS_LOCAL_RANKID="x"`) {
		t.Errorf("error %v", err)
	}
}
