package loopback

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrClosed is the error of an operation on a group that this process has closed.
var ErrClosed = errors.New("lens: loopback: the group is closed")

// RankError says which rank made an operation fail. On the rank itself, Err
// wraps the cause; on the others it is the text that the hub passed on.
type RankError struct {
	Rank int
	Err  error
}

// Error names the rank and the cause.
func (e *RankError) Error() string { return fmt.Sprintf("lens: loopback: rank %d: %v", e.Rank, e.Err) }

// Unwrap returns the cause.
func (e *RankError) Unwrap() error { return e.Err }

func blame(rank int, format string, args ...any) *RankError {
	return &RankError{Rank: rank, Err: fmt.Errorf(format, args...)}
}

// list reads "rank 3" or "ranks 3, 5".
func list(ranks []int) string {
	texts := make([]string, len(ranks))
	for i, r := range ranks {
		texts[i] = strconv.Itoa(r)
	}
	if len(ranks) == 1 {
		return "rank " + texts[0]
	}
	return "ranks " + strings.Join(texts, ", ")
}
