package lens

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nemo-lens/lens/internal/identity/strategy"
)

// ExportStrategy decides whether the process with this rank exports.
type ExportStrategy func(cfg Config, rank, worldSize int) (bool, error)

const strategyPerNode = "first_rank_per_node"

var builtinStrategies = map[string]ExportStrategy{
	"all_ranks": func(Config, int, int) (bool, error) { return true, nil },
	strategy.Single: func(c Config, rank, world int) (bool, error) {
		return strategy.SingleRank(c.ExportRank, rank, world), nil
	},
	strategy.Sampled: func(c Config, rank, _ int) (bool, error) {
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

// Workload describes a job for [EstimateLoad].
type Workload struct {
	WorldSize    int           // processes
	RanksPerNode int           // processes of one node; 0 counts as 8
	SpansPerStep float64       // that one process records with the chosen groups
	StepTime     time.Duration // of one step
}

// Load is what a collector has to take.
type Load struct {
	Exporters      int     // processes that export, each with one connection
	SpansPerSecond float64 // of all of them
}

// String says it in words.
func (l Load) String() string {
	return fmt.Sprintf("%d exporting processes, %.4g spans/s", l.Exporters, l.SpansPerSecond)
}

// EstimateLoad returns what the job would send to a collector with the export
// strategy, rank and rate of cfg, so that the collector can be sized before the
// job runs. It asks the strategy for every rank, except for
// first_rank_per_node, whose answer depends on each node's environment: there
// it counts the nodes. Compare the number with what the collector takes; one
// that does nothing but receive takes about 100,000 spans/s on two cores.
func EstimateLoad(cfg Config, w Workload) (Load, error) {
	if w.WorldSize < 1 || w.RanksPerNode < 0 || w.SpansPerStep < 0 || w.StepTime <= 0 {
		return Load{}, errors.New("lens: EstimateLoad: want a world size above 0, ranks per node and spans per step from 0, and a step time above 0")
	}
	perNode := w.RanksPerNode
	if perNode == 0 {
		perNode = 8
	}
	export := lookupStrategy(cfg.ExportStrategy)
	if export == nil {
		return Load{}, fmt.Errorf("lens: EstimateLoad: unknown export strategy %q; registered are %s",
			cfg.ExportStrategy, strings.Join(RegisteredExportStrategies(), ", "))
	}
	var l Load
	for rank := range w.WorldSize {
		exports := rank%perNode == 0
		if cfg.ExportStrategy != strategyPerNode {
			var err error
			if exports, err = export(cfg, rank, w.WorldSize); err != nil {
				return Load{}, fmt.Errorf("lens: EstimateLoad: rank %d: %w", rank, err)
			}
		}
		if !exports {
			continue
		}
		l.Exporters++
		// The rank sampler keeps the process exporting and drops its spans.
		if !cfg.SamplerEnabled || strategy.Keep(rank, cfg.ExportSampleRate) {
			l.SpansPerSecond += w.SpansPerStep / w.StepTime.Seconds()
		}
	}
	return l, nil
}
