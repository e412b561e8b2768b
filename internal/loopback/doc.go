// Package loopback joins the processes of one job over TCP and gives them the
// collective operations that data-parallel training needs: Broadcast, AllReduce
// and Barrier. It is the real transport behind the tests and the examples, for
// a handful of ranks on one host; it is no rival to NCCL, MPI or Gloo.
//
//	group, err := loopback.Join(ctx, loopback.Options{Rank: rank, WorldSize: n, File: path})
//	…
//	defer group.Close()
//	err = group.AllReduce(ctx, loopback.Mean, gradient)
//
// Rank 0 is the hub: every rank sends its contribution to it and gets the result
// from it, so every operation is also a barrier. Sums are formed in rank order,
// so every rank gets the same bits in every run.
//
// Every rank calls the same operations in the same order. A rank that calls
// another one, sends what is not a frame, leaves, dies, or gives up because its
// context is done makes the running or next operation of every rank fail with a
// [RankError] that names it. The group is of no use from then on: there is no
// agreement any more about who got what.
//
// Nothing waits for ever: an operation ends at the deadline of its context, and
// without one at Options.Timeout.
package loopback
