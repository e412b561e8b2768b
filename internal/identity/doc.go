// Package identity answers who this run is: its run id, the job and run UUIDs,
// the optional single trace id of a job, and the generator of span and trace
// ids.
//
// Nothing here is derived from time or rank alone, and nothing can be seeded by
// the application: training frameworks seed every generator of a process
// identically on all ranks, which made trace ids of different ranks collide.
//
// Decisions that the reference leaves open:
//   - A run id that an operator or a parent process handed down in
//     OTEL_RESOURCE_ATTRIBUTES (nemo.run.id) comes after an explicit one and
//     before what is found out: the SLURM job id, torchrun's run id, a random
//     one. The reference draws a random id in each process.
//   - TORCHELASTIC_RUN_ID=none, which torchrun sets when it was given no id,
//     counts as unset. In the reference all such jobs share one run UUID.
//   - service.instance.id ends in digits of the process, so that a process and
//     its children are two instances.
//   - A blank SLURM_JOB_ID does not count as one. A non-blank one is used as it
//     is, untrimmed, like in the reference.
//   - The UUIDs of version 5 and SHA-256 seeds are names, not protection; they
//     stay available under GODEBUG=fips140=only.
//
// Everything here is safe for concurrent use.
package identity
