#!/usr/bin/env bash
# Millions of documents on SLURM without Ray: each job of the array links its part of the files to a folder of its own.
#
#     sbatch --array=1-32 slurm-array.sh /shared/pubmed /shared/linked 32
#
# A job that ends before its time is requeued, and goes on where it was. One that failed is begun again by its number:
# sbatch --array=7 slurm-array.sh /shared/pubmed /shared/linked 32
#SBATCH --job-name=nomina
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=32
#SBATCH --mem=64G
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=nomina-%A_%a.log
set -euo pipefail

inputs=$1 out=$2 parts=$3

exec nomina bulk run "$inputs" --out "$out/part-$SLURM_ARRAY_TASK_ID" --part "$SLURM_ARRAY_TASK_ID/$parts" \
    --workers "$SLURM_CPUS_PER_TASK"
