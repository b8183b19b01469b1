#!/usr/bin/env bash
# The trainings behind ANGEL's tables, on one GPU; each that has ended (WORK/NAME.ended) is not done again.
#
#     DATA=... OUT=... WORK=... BASE=SELF-ALIGNED-MINILM PRE=WORK/MODEL bash experiments/angel_runs.sh
#
# Started beside generative_runs.sh, whose models it goes on from as they come (PRE's and BASE's, fine-tuned).
# Negative-aware pre-training, and fine-tuning behind it; pairs of own beams on three seeds and ten folds; of models
# that were not pre-trained (a second base); remedies; the pairs of table 2, the losses of table D, slower rates;
# targets by the cosine of an encoder (table 3), several targets a mention (figure A). SIDE_BY_SIDE trainings run at a
# time, those of the other script counted in; their bounds of memory are caps, not shares that add up. Remedies have
# REMEDY_SEEDS of NCBI disease and folds of AskAPatient, losses and the like the first of SEEDS and FOLDS: the other
# script has to train all these. What a training says is in OUT/NAME.txt; one that fails (WORK/NAME.failed,
# until the script starts again) stops those that go on from it alone.
set -u
: "${DATA:?}" "${OUT:?}" "${WORK:?}" "${BASE:?}" "${PRE:?}" "${OPTIONS:=}" "${SIDE_BY_SIDE:=15}"
: "${MINUTES:=2.5}" "${PROCESSES:=8}" "${SEEDS:=0 1 2}" "${FOLDS:=0 1 2 3 4 5 6 7 8 9}" "${PT_FOLDS:=0 1 2}"
: "${NONE:=0 1 2}" "${REMEDY_SEEDS:=$SEEDS}" "${PAUSE:=0.5}"
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$OUT" "$WORK"
rm -f "$WORK"/{others,positive,negative}.failed
rm -f "$WORK"/{angel,crossfit,losses,pairs,pt,remedies,slow,target-encoder,top}-*.failed
python=${PYTHON:-python3}

declare -A ways=(
    [ncbi]="--batch 64 --lr 1e-4 --epochs 8"
    [aap]="--batch 64 --lr 3e-4 --epochs 5 --noise 1 --copies 2"
    [bc5cdr]="--batch 64 --lr 3e-4 --epochs 6 --mix 0.5 --mix-of dictionary"
)

train() { # SCRIPT STAGE NAME OPTIONS...
    # shellcheck disable=SC2086
    $python "$1.py" "$2" --data "$DATA" --work "$WORK" --out "$OUT/$3" --name "$3" --no-pack "${@:4}" $OPTIONS \
        > "$OUT/$3.txt" 2>&1
    over $? "$3"
}
over() { # STATUS NAME
    if [ "$1" = 0 ]; then touch "$WORK/$2.ended"; else touch "$WORK/$2.failed"; fi
}
wait_for_room() {
    while [ "$(pgrep -fc '(generative[.]py|angel[.]py) (finetune|corpus|pretrain|names)')" -ge "$SIDE_BY_SIDE" ]; do
        sleep "$PAUSE"
    done
}
await() { # NAME; false where it failed
    until [ -e "$WORK/$1.ended" ]; do
        [ -e "$WORK/$1.failed" ] && return 1
        sleep "$PAUSE"
    done
}
cannot() { # NAME, WHAT IT GOES ON FROM
    echo "not trained: $2 failed" > "$OUT/$1.txt"
    over 1 "$1"
}
tune() { # MODEL NAME CORPUS OPTIONS...
    [ -e "$WORK/$2.ended" ] && return
    wait_for_room
    # shellcheck disable=SC2086
    train generative finetune "$2" --model "$1" --corpus "$3" --no-context --memory 0.09 ${ways[${3%-*}]} "${@:4}" &
    sleep "$PAUSE"
}
pairs() { # TUNED NAME CORPUS BASE VARIANTS, OPTIONS...
    [ -e "$WORK/$2.ended" ] && return
    await "$1" || { cannot "$2" "$1" && return; }
    wait_for_room
    train angel corpus "$2" --model "$WORK/$1-${SEED:-0}" --corpus "$3" --base "$4" --no-context --lr 1e-5 \
        --memory 0.09 --only "${@:5}" &
    sleep "$PAUSE"
}

before_fine_tuning() {
    [ -e "$WORK/positive.ended" ] || train generative pretrain positive --base "$PRE" --similar --bare 1 --batch 1536 \
        --repeat 2 --lr 1e-4 --minutes "$MINUTES" --evaluate-every 5000 --memory 0.5
    await others || { cannot negative others && return; }
    [ -e "$WORK/negative.ended" ] || train angel names negative --model "$WORK/positive" --minutes "$MINUTES" \
        --evaluate-every 5000 --memory 0.5
}
[ -e "$WORK/others.ended" ] || {
    $python angel.py others --data "$DATA" --model "$BASE" --out "$DATA" --name others --device cpu \
        --processes "$PROCESSES" $OPTIONS > "$OUT/others.txt" 2>&1
    over $? others
} &
before_fine_tuning &

first() { # CORPUS: sets task, its generator and the seed of that
    task=$1 seed=${SEEDS%% *} start=pre-$1-${SEEDS%% *}
    [ "$1" != aap ] || { task=aap-${FOLDS%% *} seed=0 && start=pre-$task; }
}
own_beams() {
    for seed in $SEEDS; do
        for corpus in ncbi bc5cdr; do
            SEED=$seed pairs "pre-$corpus-$seed" "angel-$corpus-$seed" $corpus "$PRE" paper likelihood --test
        done
    done
    for corpus in ncbi bc5cdr aap; do
        first $corpus
        SEED=$seed pairs "$start" "losses-$task" "$task" "$PRE" pairwise cpo simpo
        SEED=$seed pairs "$start" "pairs-$task" "$task" "$PRE" tfidf all top-10
    done
    for seed in $REMEDY_SEEDS; do
        SEED=$seed pairs "pre-ncbi-$seed" "remedies-ncbi-$seed" ncbi "$PRE" synonym own unseen
        pairs "pre-aap-$seed" "remedies-aap-$seed" "aap-$seed" "$PRE" synonym own unseen
    done
    for corpus in ncbi aap bc5cdr; do
        first $corpus
        SEED=$seed pairs "$start" "slow-$task" "$task" "$PRE" paper likelihood --lr 1e-6
    done
    for corpus in ncbi aap; do
        first $corpus
        SEED=$seed pairs "$start" "crossfit-$task" "$task" "$PRE" crossfit-likelihood
    done
    wait
}
folds() {
    for fold in $FOLDS; do pairs "pre-aap-$fold" "angel-aap-$fold" "aap-$fold" "$PRE" paper likelihood --test; done
    wait
}
behind_negatives() {
    await negative || return
    for seed in $SEEDS; do tune "$WORK/negative" "pt-ncbi-$seed" ncbi --seeds "$seed" --test; done
    tune "$WORK/negative" pt-bc5cdr-0 bc5cdr --test
    for fold in $PT_FOLDS; do tune "$WORK/negative" "pt-aap-$fold" "aap-$fold" --test; done
    for seed in $SEEDS; do
        SEED=$seed pairs "pt-ncbi-$seed" "angel-pt-ncbi-$seed" ncbi "$WORK/negative" paper likelihood --test
    done
    pairs pt-bc5cdr-0 angel-pt-bc5cdr-0 bc5cdr "$WORK/negative" paper likelihood --test
    for fold in $PT_FOLDS; do
        pairs "pt-aap-$fold" "angel-pt-aap-$fold" "aap-$fold" "$WORK/negative" paper likelihood --test
    done
    wait
}
not_pre_trained() {
    for seed in $NONE; do
        for corpus in ncbi bc5cdr; do
            SEED=$seed pairs "none-$corpus-$seed" "angel-none-$corpus-$seed" $corpus "$BASE" paper likelihood --test
        done
        pairs "none-aap-$seed" "angel-none-aap-$seed" "aap-$seed" "$BASE" paper likelihood --test
    done
    wait
}
targets() {
    for corpus in ncbi aap-0 bc5cdr; do
        tune "$PRE" "top-3-$corpus" $corpus --top 3
        tune "$PRE" "target-encoder-$corpus" $corpus --target encoder --similarity "$BASE"
        tune "$PRE" "top-5-$corpus" $corpus --top 5
    done
    wait
}

own_beams & folds & behind_negatives & not_pre_trained &
await "angel-ncbi-${SEEDS%% *}"
targets &
wait
