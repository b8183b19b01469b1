#!/usr/bin/env bash
# All trainings of the small generative linker on one GPU; 20 minutes with the minutes as they are.
#
#     DATA=... OUT=... WORK=... BASE=SELF-ALIGNED-MINILM bash experiments/generative.sh
#
# Pre-training on mentions without a text; then, side by side: fine-tuning with and without a text, learning from
# negatives with and without remedies, and the four stages of ANGEL (targets that are the most similar synonyms,
# negatives of all names, fine-tuning, negatives of the corpus). What a step says is in OUT/NAME.txt; one that fails
# does not stop what does not need it. DATA/others.npy (the wrong names of all names) is made meanwhile, without the
# GPU.
# BASE: unpacked.py writes one.
set -u
: "${DATA:?}" "${OUT:?}" "${WORK:?}" "${BASE:?}" "${MINUTES:=7.5}" "${NEGATIVE_MINUTES:=2}"
: "${OPTIONS:=}" "${PROCESSES:=8}"
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$OUT" "$WORK"
python=${PYTHON:-python3}

train() { # SCRIPT STAGE NAME OPTIONS...
    local script=$1 stage=$2 name=$3
    shift 3
    # shellcheck disable=SC2086
    $python "$script.py" "$stage" --data "$DATA" --work "$WORK" --out "$OUT/$name" --name "$name" "$@" $OPTIONS \
        > "$OUT/$name.txt" 2>&1
    touch "$WORK/$name.ended"
}
tune() { # MODEL NAME CORPUS OPTIONS...
    train generative finetune "$2" --model "$WORK/$1" --corpus "$3" --batch 64 --lr 1e-4 --epochs 8 --test "${@:4}"
}
negatives() { # TUNED NAME CORPUS BASE VARIANTS...
    await "$1"
    train angel corpus "$2" --model "$WORK/$1-0" --base "$WORK/$4" --corpus "$3" --no-context --no-pack --lr 1e-5 \
        --only "${@:5}"
}
await() { until [ -e "$WORK/$1.ended" ]; do sleep 1; done; }

four_stages() {
    train generative pretrain positive --base "$WORK/pre" --similar --bare 1 --batch 1536 --repeat 2 --lr 1e-4 \
        --minutes "$NEGATIVE_MINUTES" --evaluate-every 5000 --no-pack
    await others
    train angel names negative --model "$WORK/positive" --minutes "$NEGATIVE_MINUTES" --evaluate-every 1500 --no-pack
    tune negative ft-negative-ncbi ncbi --no-context --no-pack &
    tune negative ft-negative-aap aap-0 --no-context --no-pack &
    negatives ft-negative-ncbi angel-negative-ncbi ncbi negative paper likelihood &
    negatives ft-negative-aap angel-negative-aap aap-0 negative paper likelihood &
    wait
}

{
    $python angel.py others --data "$DATA" --model "$BASE" --out "$DATA" --name others --device cpu \
        --processes "$PROCESSES" > "$OUT/others.txt" 2>&1
    touch "$WORK/others.ended"
} &
train generative pretrain pre --base "$BASE" --bare 1 --batch 1536 --repeat 2 --minutes "$MINUTES" --evaluate-every 5000
tune pre ft-ncbi ncbi --no-context &
tune pre ft-aap aap-0 --no-context &
tune pre ft-bc5cdr bc5cdr --no-context &
tune pre ft-context-ncbi ncbi --no-pack --window 64 &
tune pre ft-context-bc5cdr bc5cdr --no-pack --window 64 &
negatives ft-ncbi angel-ncbi ncbi pre paper likelihood synonym own unseen pairwise &
negatives ft-ncbi angel-crossfit-ncbi ncbi pre crossfit-likelihood &
negatives ft-aap angel-aap aap-0 pre paper likelihood unseen &
negatives ft-aap angel-crossfit-aap aap-0 pre crossfit-likelihood &
four_stages &
wait
