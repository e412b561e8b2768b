package lens

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/nemo-lens/lens/internal/identity/strategy"
)

// ExportStrategy decides whether the process with this rank exports.
type ExportStrategy func(cfg Config, rank, worldSize int) (bool, error)

const (
	strategyPerNode = "first_rank_per_node"
	strategySampled = "sampled"
	strategySingle  = "single_rank"
)

var builtinStrategies = map[string]ExportStrategy{
	"all_ranks": func(Config, int, int) (bool, error) { return true, nil },
	strategySingle: func(c Config, rank, world int) (bool, error) {
		return strategy.SingleRank(c.ExportRank, rank, world), nil
	},
	strategySampled: func(c Config, rank, _ int) (bool, error) {
		return strategy.Keep(rank, c.ExportSampleRate), nil
	},
	strategyPerNode: func(Config, int, int) (bool, error) {
		return strategy.FirstRankPerNode(os.LookupEnv)
	},
}

var strategies = struct {
	sync.RWMutex
	byName map[string]ExportStrategy
}{byName: maps.Clone(builtinStrategies)}

// RegisterExportStrategy makes a strategy known under a name that
// Config.ExportStrategy can hold. An empty or taken name, and a nil strategy,
// are errors. It is safe for concurrent use.
func RegisterExportStrategy(name string, s ExportStrategy) error {
	if name == "" || s == nil {
		return errors.New("lens: RegisterExportStrategy: want a non-empty name and a strategy that is not nil")
	}
	strategies.Lock()
	defer strategies.Unlock()
	if strategies.byName[name] != nil {
		return fmt.Errorf("lens: export strategy %q is already registered; unregister it first, or choose another name", name)
	}
	strategies.byName[name] = s
	return nil
}

// UnregisterExportStrategy drops a registered strategy. A built-in or unknown
// name is an error.
func UnregisterExportStrategy(name string) error {
	if builtinStrategies[name] != nil {
		return fmt.Errorf("lens: export strategy %q is built-in and stays registered", name)
	}
	strategies.Lock()
	defer strategies.Unlock()
	if strategies.byName[name] == nil {
		return fmt.Errorf("lens: export strategy %q is not registered; registered are %s",
			name, strings.Join(slices.Sorted(maps.Keys(strategies.byName)), ", "))
	}
	delete(strategies.byName, name)
	return nil
}

// RegisteredExportStrategies returns the known names, sorted.
func RegisteredExportStrategies() []string {
	strategies.RLock()
	defer strategies.RUnlock()
	return slices.Sorted(maps.Keys(strategies.byName))
}

func strategyKnown(name string) bool { return lookupStrategy(name) != nil }

func lookupStrategy(name string) ExportStrategy {
	strategies.RLock()
	defer strategies.RUnlock()
	return strategies.byName[name]
}
