package loopback_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/internal/loopback"
)

// The test binary runs as one rank of a job when roleVar is set.
const (
	roleVar  = "LOOPBACK_TEST_ROLE" // "work", or "die" or "hang" at operation 20
	rankVar  = "LOOPBACK_TEST_RANK"
	worldVar = "LOOPBACK_TEST_WORLD"
	fileVar  = "LOOPBACK_TEST_FILE"
)

const operations = 40

// rankProcess sums 1..n forty times and prints the sum of the results, or the
// error and the rank to blame.
func rankProcess() int {
	rank, _ := strconv.Atoi(os.Getenv(rankVar))
	world, _ := strconv.Atoi(os.Getenv(worldVar))
	ctx := context.Background()
	g, err := loopback.Join(ctx, loopback.Options{Rank: rank, WorldSize: world, File: os.Getenv(fileVar), Timeout: within})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = g.Close() }()
	total := 0.0
	for i := range operations {
		if i == operations/2 {
			switch os.Getenv(roleVar) {
			case "die": // as a crash does: no goodbye
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				select {}
			case "hang":
				select {}
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		if os.Getenv(roleVar) == "impatient" {
			ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
		}
		values := []float64{float64(rank + 1)}
		err := g.AllReduce(ctx, loopback.Sum, values)
		cancel()
		if err != nil {
			fmt.Println(err)
			var r *loopback.RankError
			if errors.As(err, &r) {
				fmt.Println("blames", r.Rank)
			}
			return 1
		}
		total += values[0]
	}
	fmt.Println("total", total)
	return 0
}

// job runs one process for each role and returns what they printed.
func job(t *testing.T, roles ...string) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	file := meetingFile(t)
	out := make([]bytes.Buffer, len(roles))
	cmds := make([]*exec.Cmd, len(roles))
	for rank, role := range roles {
		cmd := exec.CommandContext(soon(t), self)
		cmd.Env = append(os.Environ(), roleVar+"="+role, rankVar+"="+strconv.Itoa(rank),
			worldVar+"="+strconv.Itoa(len(roles)), fileVar+"="+file, "GORACE=atexit_sleep_ms=0")
		cmd.Stdout, cmd.Stderr = &out[rank], &out[rank]
		require.NoError(t, cmd.Start())
		cmds[rank] = cmd
	}
	// A hanging rank would be waited for in vain, and must not be what ends the others.
	var waiting sync.WaitGroup
	for rank, cmd := range cmds {
		if roles[rank] != "hang" {
			waiting.Go(func() { _ = cmd.Wait() })
		}
	}
	waiting.Wait()
	for rank, cmd := range cmds {
		if roles[rank] == "hang" {
			assert.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
		}
	}
	texts := make([]string, len(roles))
	for rank := range out {
		texts[rank] = out[rank].String()
	}
	return texts
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	for rank, text := range job(t, "work", "work", "work", "work") {
		assert.Equal(t, fmt.Sprintln("total", operations*10), text, "rank %d", rank)
	}
}

func TestADeadProcessIsNamedByAllOthers(t *testing.T) {
	t.Parallel()
	for dead := range 3 {
		roles := []string{"work", "work", "work"}
		roles[dead] = "die"
		for rank, text := range job(t, roles...) {
			if rank == dead {
				assert.Empty(t, text)
				continue
			}
			assert.Contains(t, text, fmt.Sprintln("blames", dead), "rank %d: %s", rank, text)
			assert.Contains(t, text, fmt.Sprintf("rank %d: the connection", dead))
		}
	}
}

// A process that stops answering ends the job at the deadline of whoever has
// one, and the others learn for whom it waited.
func TestAHungProcessEndsTheJobAtTheDeadline(t *testing.T) {
	t.Parallel()
	texts := job(t, "work", "hang", "impatient")
	assert.Contains(t, texts[2], "deadline exceeded")
	for _, rank := range []int{0, 2} {
		if strings.Contains(texts[rank], "total") {
			t.Errorf("rank %d finished: %s", rank, texts[rank])
		}
	}
	assert.Contains(t, texts[0], "blames 2")
	assert.Contains(t, texts[0], "had not been reached by rank 1)")
}
