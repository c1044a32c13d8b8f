#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
commit() { # DAY AUTHOR SUBJECT
    export GIT_AUTHOR_NAME="$2" GIT_AUTHOR_EMAIL="$2@example.org" GIT_COMMITTER_NAME="$2" GIT_COMMITTER_EMAIL="$2@example.org"
    export GIT_AUTHOR_DATE="2025-$1T09:00:00Z" GIT_COMMITTER_DATE="2025-$1T09:00:00Z"
    git add -A
    git commit -q -m "$3"
}
git init -q -b main

cat >check.sh <<'END'
#!/bin/sh
# 0: good, 1: bad, 125: cannot be checked.
[ -e broken-tools ] && exit 125
python3 -B -c 'import fares; assert [fares.fare(km) for km in (0, 4, 5, 30)] == [200, 200, 250, 1500]' 2>/dev/null || exit 1
END
cat >fares.py <<'END'
"""Fares."""

BASE = 200
PER_KM = 50


def fare(km):
    return max(BASE, PER_KM * km)
END
commit 01-01 Ada "Fares"
git tag v1
n=1
while [ $n -le 60 ]; do
    case $n in
    20) touch broken-tools ;;
    25) rm broken-tools ;;
    30) sed -i 's/PER_KM \* km)/PER_KM * int(km))/' fares.py ;;
    37) sed -i 's/PER_KM \* int(km))/PER_KM * int(km) - km \/\/ 30)/' fares.py ;;
    44) touch broken-tools ;;
    46) rm broken-tools ;;
    esac
    printf 'Line %s\n' $n >>log.txt
    printf 'VALUE_%s = %s\n' $n $n >>fares.py
    commit "$(printf '%02d-%02d' $((n / 28 + 2)) $((n % 28 + 1)))" Bob "Update fares and log ($n)"
    n=$((n + 1))
done
