#!/usr/bin/env bash
# What the errors of fine-tuned generators ask for, tried on development sets, on one GPU; each that has ended
# (WORK/NAME.ended) is not done again.
#
#     DATA=... OUT=... WORK=... BASE=SELF-ALIGNED-MINILM PRE=WORK/MODEL \
#         bash experiments/generative_tries.sh [layers] [beside]
#
# Beside the fine-tuning of generative_runs.sh: HPO's lay names, in its stead the names of all diseases and findings,
# SapBERT's metric loss on the encoder. More layers of the decoder: two pre-trainings of MINUTES side by side, with
# three and with six layers, and fine-tuning behind each. What a training says is in OUT/NAME.txt; one that fails does
# not stop the others. Bounds of memory are caps, not shares that add up.
set -u
: "${DATA:?}" "${OUT:?}" "${WORK:?}" "${BASE:?}" "${PRE:?}" "${OPTIONS:=}"
: "${MINUTES:=4}" "${SIDE_BY_SIDE:=15}" "${PAUSE:=0.5}"
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$OUT" "$WORK"
python=${PYTHON:-python3}

declare -A ways=(
    [ncbi]="--batch 64 --lr 1e-4 --epochs 8"
    [aap]="--batch 64 --lr 3e-4 --epochs 5 --noise 1 --copies 2"
    [bc5cdr]="--batch 64 --lr 3e-4 --epochs 6"
)

train() { # STAGE NAME OPTIONS...
    [ -e "$WORK/$2.ended" ] && return
    # shellcheck disable=SC2086
    $python generative.py "$1" --data "$DATA" --work "$WORK" --out "$OUT/$2" --name "$2" --no-pack "${@:3}" \
        $OPTIONS > "$OUT/$2.txt" 2>&1 && touch "$WORK/$2.ended"
}
tune() { # MODEL NAME CORPUS OPTIONS...
    while [ "$(pgrep -fc '(generative[.]py|angel[.]py) (finetune|corpus|pretrain|names)')" -ge "$SIDE_BY_SIDE" ]; do
        sleep "$PAUSE"
    done
    # shellcheck disable=SC2086
    train finetune "$2" --model "$1" --corpus "$3" --no-context --memory 0.09 ${ways[${3%-*}]} "${@:4}" &
    sleep "$PAUSE"
}
layers() {
    decoder three 1 3 5 &
    decoder six 0 1 2 3 4 5 &
    wait
}
decoder() { # NAME LAYERS...
    train pretrain "$1" --base "$BASE" --layers "${@:2}" --bare 1 --noise 0.3 --batch 768 --repeat 2 \
        --minutes "$MINUTES" --evaluate-every 50000 --memory 0.3
    [ -e "$WORK/$1.ended" ] || return
    tune "$WORK/$1" "$1-ncbi" ncbi
    tune "$WORK/$1" "$1-bc5cdr" bc5cdr --mix 0.5 --mix-of dictionary
    tune "$WORK/$1" "$1-aap-0" aap-0
    wait
}
beside() {
    for corpus in ncbi aap-0; do
        tune "$PRE" "lay-$corpus" $corpus --mix 0.33 --mix-of lay
        tune "$PRE" "names-beside-$corpus" $corpus --mix 0.33 --mix-of names
    done
    for corpus in ncbi bc5cdr; do tune "$PRE" "metric-$corpus" $corpus --mix 0.33 --mix-of metric; done
    wait
}

for part in ${*:-layers beside}; do
    case $part in
        layers | beside) "$part" & ;;
        *) echo "$0: no such part: $part (layers, beside)" >&2 && exit 2 ;;
    esac
done
wait
