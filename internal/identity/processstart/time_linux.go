package processstart

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Time returns when the kernel created this process, before main and
// the runtime's own start, to 10 ms. It reads two files under /proc; an error
// says what was wrong with them.
func Time() (time.Time, error) { return in("/") }

func in(root string) (time.Time, error) {
	stat, err := os.ReadFile(filepath.Join(root, "proc/self/stat"))
	if err != nil {
		return time.Time{}, fmt.Errorf("lens: the creation time of this process is unknown: %w", err)
	}
	uptime, err := os.ReadFile(filepath.Join(root, "proc/uptime"))
	if err != nil {
		return time.Time{}, fmt.Errorf("lens: the creation time of this process is unknown: %w", err)
	}
	return parse(string(stat), string(uptime), time.Now(), clockTicks())
}

// clockTicks returns the unit of the stat file as the kernel told this process,
// and 100 where it did not: the value of every system that Go runs on.
func clockTicks() int {
	const atClockTick = 17 // AT_CLKTCK
	vector, err := unix.Auxv()
	if err == nil {
		for _, entry := range vector {
			if entry[0] == atClockTick && entry[1] > 0 {
				return int(entry[1])
			}
		}
	}
	return 100
}
