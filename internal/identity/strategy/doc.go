// Package strategy decides which ranks of a job export telemetry. It knows
// nothing about configuration or the SDK: the decisions are plain functions of
// a rank, and the sampler over them lives in the sub-package sampler.
//
// The rank hash is bit-compatible with NeMo Lens v0.2.0, so that Go and Python
// ranks of one job choose the same exporters:
//
//	bucket(rank) = MD5(decimal text of rank), read as one big-endian 128-bit integer, mod 10000
//	keep(rank, rate) = bucket(rank)/10000.0 < rate
//
// MD5 spreads ranks over buckets here and protects nothing, so the decision
// stays available in programs that run with GODEBUG=fips140=only.
//
// Decisions left open by the reference:
//   - A present but empty or blank LOCAL_RANK counts as unset, where the
//     reference fails.
//   - With one torchrun in each task of an outer launcher, the outer local rank
//     counts too: LOCAL_RANK is 0 in all of them.
//   - Without LOCAL_RANK the local rank of other launchers is read, see
//     [LocalRankVars]. The reference reads LOCAL_RANK only, so that every
//     process of a plain mpirun or srun job would count as the first of its
//     node.
//
// Everything here is safe for concurrent use.
package strategy
