#!/usr/bin/env bash
# A sweep as a Slurm array, a shard a task: `sbatch --array=1-7 examples/slurm-array.sh`, in a
# folder with grid.toml and rrm.befit that all nodes see. A task that was lost is started again with
# its number (`sbatch --array=3 …`), and goes on where it was. When all are done:
#   befit-sweep merge part-*.parquet -o results.parquet
#SBATCH --job-name=befit
#SBATCH --cpus-per-task=2
set -euo pipefail
shards=${SHARDS:-$SLURM_ARRAY_TASK_COUNT} # give SHARDS where only some tasks are started again
befit-sweep sweep grid.toml --shard "$SLURM_ARRAY_TASK_ID/$shards" \
    --threads "${SLURM_CPUS_PER_TASK:-1}" -o "part-$SLURM_ARRAY_TASK_ID.parquet"
