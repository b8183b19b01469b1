#!/usr/bin/env bash
# The trainings behind GenBioEL's tables, on one or two GPUs; each that has ended (WORK/NAME.ended) is not done again.
#
#     DATA=... OUT=... WORK=... BASE=SELF-ALIGNED-MINILM PRE=WORK/MODEL bash experiments/generative_runs.sh
#
# Three seeds on NCBI disease and BC5CDR, ten folds of AskAPatient (DATA by "generative_data.py --folds 10"), each the
# way that its development set chose (generative_search.sh); the same not pre-trained, three seeds and folds (NONE); the
# ablations of table 4 on NCBI disease and BC5CDR, one seed. SEEDS, FOLDS: fewer or more. Each has a bound of the
# GPU's memory, so that many run side by side (with NVIDIA's MPS, "nvidia-cuda-mps-control -d", at once and not in
# turns). What a training says is in OUT/NAME.txt; one that fails
# (WORK/NAME.failed, until the script starts again) does not stop the others.
set -u
: "${DATA:?}" "${OUT:?}" "${WORK:?}" "${BASE:?}" "${PRE:?}" "${OPTIONS:=}" "${SIDE_BY_SIDE:=8}"
: "${SEEDS:=0 1 2}" "${FOLDS:=0 1 2 3 4 5 6 7 8 9}" "${NONE:=0 1 2}"
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$OUT" "$WORK"
rm -f "$WORK"/{pre,none,no-prompt,target-shortest,target-random,names}-*.failed
python=${PYTHON:-python3}
cards=$(nvidia-smi -L 2> /dev/null | grep -c GPU)
started=0

declare -A ways=(
    [ncbi]="--batch 64 --lr 1e-4 --epochs 8"
    [aap]="--batch 64 --lr 3e-4 --epochs 5 --noise 1 --copies 2"
    [bc5cdr]="--batch 64 --lr 3e-4 --epochs 6 --mix 0.5 --mix-of dictionary"
)

tune() { # MODEL NAME CORPUS OPTIONS...
    [ -e "$WORK/$2.ended" ] && return
    while [ "$(jobs -rp | wc -l)" -ge $((SIDE_BY_SIDE * (cards > 1 ? cards : 1))) ]; do sleep 0.2; done
    # shellcheck disable=SC2086
    CUDA_VISIBLE_DEVICES=$((cards > 1 ? started % cards : 0)) one "$@" &
    started=$((started + 1))
}
one() {
    # shellcheck disable=SC2086
    if $python generative.py finetune --data "$DATA" --work "$WORK" --out "$OUT/$2" --name "$2" --model "$1" \
        --corpus "$3" --no-context --no-pack --memory 0.09 ${ways[${3%-*}]} "${@:4}" $OPTIONS > "$OUT/$2.txt" 2>&1; then
        touch "$WORK/$2.ended"
    else
        touch "$WORK/$2.failed"
    fi
}

for seed in $SEEDS; do
    for corpus in bc5cdr ncbi; do tune "$PRE" "pre-$corpus-$seed" $corpus --seeds $seed --test; done
done
for fold in $FOLDS; do tune "$PRE" "pre-aap-$fold" "aap-$fold" --test; done
for seed in $NONE; do
    for corpus in bc5cdr ncbi; do tune "$BASE" "none-$corpus-$seed" $corpus --seeds $seed --test; done
    tune "$BASE" "none-aap-$seed" "aap-$seed" --test
done
for corpus in bc5cdr ncbi; do
    tune "$PRE" "no-prompt-$corpus" $corpus --no-prompt
    for how in shortest random; do
        tune "$PRE" "target-$how-$corpus" $corpus --target $how
        tune "$PRE" "names-$how-$corpus" $corpus --names $how
    done
done
wait
