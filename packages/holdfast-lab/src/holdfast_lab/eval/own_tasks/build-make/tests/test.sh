#!/bin/sh
# Writes 1 to reward.txt if the task is solved, else 0.
set -u
root=${EVAL_ROOT:-/app}
logs=${EVAL_LOGS:-/logs/verifier}
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
wanted=$(cat chapters/1.txt chapters/2.txt chapters/3.txt)
(
    set -e
    make clean
    make
    [ "$(cat out/book.txt)" = "$wanted" ]
    make -q
    touch -d '1 hour ago' out/book.txt
    cp chapters/2.txt /tmp/two
    printf 'Chapter 2.\nIt is longer now.\n' >chapters/2.txt
    make
    grep -q longer out/book.txt
    cp /tmp/two chapters/2.txt
    make clean
    [ ! -e out/book.txt ]
    make
    [ "$(cat out/book.txt)" = "$wanted" ]
) && echo 1 >"$logs/reward.txt"
