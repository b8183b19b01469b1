#!/usr/bin/env bash
# All trainings of the small generative linker, side by side on two GPUs; half an hour with the minutes as they are.
#
#     DATA=... OUT=... WORK=... BASE=SELF-ALIGNED-MINILM bash experiments/generative.sh
#
# The first GPU: pre-training on mentions without a text, fine-tuning, learning from negatives with and without remedies.
# The second: the same with the text around, then the positive-only model of ANGEL and its training on names. A step that
# fails is said in OUT/NAME.txt and does not stop what does not need it. DATA has others.npy (angel.py others).
set -u
: "${DATA:?}" "${OUT:?}" "${WORK:?}" "${BASE:?}" "${MINUTES:=9}" "${OPTIONS:=}"
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
    train angel corpus "$2" --model "$WORK/$1-0" --base "$WORK/$4" --corpus "$3" --no-context --no-pack --lr 1e-5 \
        --only "${@:5}"
}
await() { until [ -e "$WORK/$1.ended" ]; do sleep 1; done; }

without_text() {
    export CUDA_VISIBLE_DEVICES=0
    train generative pretrain pre --base "$BASE" --bare 1 --batch 1536 --repeat 2 --minutes "$MINUTES" \
        --evaluate-every 5000
    tune pre ft-ncbi ncbi --no-context &
    tune pre ft-aap aap-0 --no-context &
    tune pre ft-bc5cdr bc5cdr --no-context &
    wait
    local remedies="paper likelihood synonym own unseen pairwise crossfit crossfit-likelihood"
    # shellcheck disable=SC2086
    negatives ft-ncbi angel-ncbi ncbi pre $remedies &
    # shellcheck disable=SC2086
    negatives ft-aap angel-aap aap-0 pre $remedies &
    wait
}
with_text() {
    export CUDA_VISIBLE_DEVICES=1
    train generative pretrain pre-text --base "$BASE" --bare 0.5 --window 64 --batch 1536 --repeat 2 \
        --minutes "$MINUTES" --evaluate-every 5000 --no-pack
    tune pre-text ft-text-ncbi ncbi --no-pack &
    tune pre-text ft-text-bc5cdr bc5cdr --no-pack &
    wait
    await pre
    train generative pretrain positive --base "$WORK/pre" --similar --bare 1 --batch 1536 --repeat 2 --lr 1e-4 \
        --minutes 2 --evaluate-every 5000 --no-pack
    train angel names negative --model "$WORK/positive" --minutes 2 --evaluate-every 1500 --no-pack
    tune negative ft-negative-ncbi ncbi --no-context --no-pack &
    tune negative ft-negative-aap aap-0 --no-context --no-pack &
    wait
    negatives ft-negative-ncbi angel-negative-ncbi ncbi negative paper crossfit-likelihood &
    negatives ft-negative-aap angel-negative-aap aap-0 negative paper crossfit-likelihood &
    wait
}

without_text &
with_text &
wait
