#!/usr/bin/env bash
# Millions of documents on several nodes of SLURM as one run, on a Ray cluster that lives as long as the job.
#
#     sbatch --nodes=4 slurm-ray.sh /shared/pubmed /shared/linked
#
# A job that ends before its time is requeued, and goes on where it was.
#SBATCH --job-name=nomina-ray
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --mem=64G
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=nomina-ray-%j.log
set -euo pipefail

inputs=$1 out=$2
port=6379
export RAY_USAGE_STATS_ENABLED=0

# This script runs on the first node, which is the head of the cluster.
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address=$head:$port
on_head=(srun --overlap --nodes=1 --ntasks=1 --nodelist="$head")
others=$((SLURM_JOB_NUM_NODES - 1))

"${on_head[@]}" ray start --head --port="$port" --num-cpus="$SLURM_CPUS_PER_TASK" --include-dashboard=false --block &
until ray status --address "$address" > /dev/null 2>&1; do
    # An srun that has ended is a head that could not start.
    kill -0 "$!"
    sleep 1
done
if [ "$others" -gt 0 ]; then
    srun --overlap --nodes="$others" --ntasks="$others" --exclude="$head" \
        ray start --address="$address" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
fi

# Workers are counted here: nodes may come later than the run, and those that are lost are replaced by the others.
nomina bulk run "$inputs" --out "$out" --engine ray --address "$address" \
    --workers "$((SLURM_JOB_NUM_NODES * SLURM_CPUS_PER_TASK))"
