// Package rankenv finds out which rank of which job this process is from what
// its launcher left in the environment.
//
// The sources, in the order in which they are believed where nothing says which
// of them is the inner one:
//
//  1. torchrun: RANK, WORLD_SIZE, LOCAL_RANK
//  2. SLURM: SLURM_PROCID, SLURM_STEP_NUM_TASKS (else SLURM_NTASKS, else
//     SLURM_NPROCS), SLURM_LOCALID, inside a job step only
//  3. Open MPI: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE,
//     OMPI_COMM_WORLD_LOCAL_RANK
//  4. PMI (MPICH, Intel MPI, Cray MPICH, srun --mpi=pmi2): PMI_RANK, PMI_SIZE,
//     and MPI_LOCALRANKID, PALS_LOCAL_RANKID or PMI_LOCAL_RANK
//  5. PMIx: PMIX_RANK with the size in WORLD_SIZE, as PMIx exports none
//  6. Kubernetes indexed jobs: JOB_COMPLETION_INDEX with the size in
//     WORLD_SIZE, which the pod template has to set, as Kubernetes does not
//  7. OTEL_RESOURCE_ATTRIBUTES: nv.dl.rank, nv.dl.world_size, nv.dl.local_rank,
//     else the older dl.rank, dl.world_size, dl.local_rank
//
// Launcher variables are inherited by processes that are no ranks, and launchers
// run inside each other. The inner one is believed:
//
//   - The batch script of a SLURM job has SLURM_PROCID=0 and the job's
//     SLURM_NTASKS, and whatever it starts without srun inherits them. So
//     SLURM counts only inside a step, that is with SLURM_STEP_ID or
//     SLURM_STEPID; the ids of batch and interactive steps do not count. A
//     positive SLURM_PROCID, and one without SLURM_JOB_ID, is believed
//     without a step id, as no batch script has it.
//   - Of the tasks of "srun --pty bash" only the first runs anything. With
//     SLURM_PTY_PORT the first task of step 0 is such a shell and no rank.
//   - mpirun and mpiexec reach their nodes through srun, or are called inside a
//     step, so that their ranks inherit the SLURM task of a daemon, a proxy or a
//     shell. Where Open MPI or PMI gives a world of more than one process and
//     other numbers than SLURM, the SLURM task is the outer one.
//   - Kubeflow gives a pod its own RANK beside the WORLD_SIZE of all processes.
//     Without torchrun's LOCAL_RANK the pods (PET_NNODES) are the ranks, and a
//     warning says so.
//
// Blanks and quotes around a text are taken off, and blank text counts as unset.
// A pair of which only one half is set, text that is not a whole number, and a
// rank outside 0 <= rank < world size are errors if their source would win, and
// warnings if an earlier source is complete. A rank of a launcher that exports no
// size is a warning where nothing gives the size. Complete sources that disagree
// are a warning that shows both; one launcher inside another (one torchrun for
// each SLURM task, say) is no disagreement.
package rankenv
