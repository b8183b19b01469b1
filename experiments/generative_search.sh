#!/usr/bin/env bash
# Which way of fine-tuning the small generative linker the development sets choose, and its figures.
#
#     DATA=... OUT=... WORK=... bash experiments/generative_search.sh search PRE
#     DATA=... OUT=... WORK=... bash experiments/generative_search.sh chosen PRE SUFFIX
#
# "search" trains the model WORK/PRE in every way below on NCBI disease, AskAPatient (fold 0) and BC5CDR, all side by
# side on one GPU. "chosen" trains WORK/PRE the way that was best on each, with and without a text around, and looks at
# the test sets. What a training says is in OUT/NAME.txt; one that fails does not stop the others.
set -u
: "${DATA:?}" "${OUT:?}" "${WORK:?}" "${OPTIONS:=}"
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$OUT" "$WORK"
python=${PYTHON:-python3}

tune() { # MODEL NAME CORPUS OPTIONS...
    # shellcheck disable=SC2086
    $python generative.py finetune --data "$DATA" --work "$WORK" --out "$OUT/$2" --name "$2" --model "$WORK/$1" \
        --corpus "$3" "${@:4}" $OPTIONS > "$OUT/$2.txt" 2>&1
    touch "$WORK/$2.ended"
}
try() { # NAME EPOCHS OF NCBI, OF ASKAPATIENT, OF BC5CDR (0: not) OPTIONS...
    local name=$1 corpora=(ncbi aap-0 bc5cdr) epochs=("$2" "$3" "$4")
    for i in 0 1 2; do
        [ "${epochs[i]}" = 0 ] && continue
        tune "$pre" "try-$name-${corpora[i]}" "${corpora[i]}" --no-context --no-pack --epochs "${epochs[i]}" "${@:5}" &
    done
}
search() {
    pre=$1
    try rate 8 12 8 --batch 64 --lr 3e-4
    try longer 20 20 0 --batch 64 --lr 2e-4
    try small 8 6 0 --batch 16 --lr 1e-4
    try sharp 8 12 0 --batch 64 --lr 3e-4 --smoothing 0
    try top 8 0 0 --batch 64 --lr 3e-4 --top 3
    try noise 4 5 0 --batch 64 --lr 3e-4 --noise 1 --copies 2
    try dictionary 8 12 6 --batch 64 --lr 3e-4 --mix 0.5
    try names 8 12 6 --batch 64 --lr 3e-4 --mix 0.5 --mix-of names
    wait
}
chosen() {
    local pre=$1 suffix=$2
    for corpus in ncbi aap-0 bc5cdr; do
        # shellcheck disable=SC2046
        tune "$pre" "ft-$corpus-$suffix" "$corpus" --no-context --test \
            $($python generative_choice.py "$OUT"/try-*-"$corpus"/*.json) &
    done
    for corpus in ncbi bc5cdr; do
        # shellcheck disable=SC2046
        tune "$pre" "ft-context-$corpus-$suffix" "$corpus" --window 64 --no-pack --test \
            $($python generative_choice.py "$OUT"/try-*-"$corpus"/*.json) &
    done
    wait
}

"$@"
