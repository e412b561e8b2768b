package strategy

// The built-in strategies that can leave a job without an exporter.
const (
	Single  = "single_rank"
	Sampled = "sampled"
)

// NobodyExports reports whether the strategy with that name leaves the job without a
// process that exports. Only rank 0 looks through all ranks, and only where the rate is so
// small that it can happen.
func NobodyExports(name string, exportRank int, rate float64, rank, world int) bool {
	switch name {
	case Single:
		return exportRank >= world
	case Sampled:
		if rank != 0 || rate*float64(world) > 30 {
			return false
		}
		for r := range world {
			if Keep(r, rate) {
				return false
			}
		}
		return true
	}
	return false
}
