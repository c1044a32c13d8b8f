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

printf 'def total(rows):\n    return sum(rows)\n' >sums.py
commit 01-03 Ada "Add sums"
printf '\n\ndef legacy_total(rows):\n    return sum(int(row) for row in rows)\n' >>sums.py
commit 01-19 Bob "Add legacy_total for old files"
mkdir lib && git mv sums.py lib/sums.py
commit 02-02 Cem "Move sums to lib"
sed -i 's/int(row)/float(row)/' lib/sums.py
commit 02-14 Ada "legacy_total: fractions"
printf 'from lib.sums import total\n\nprint(total([1, 2]))\n' >main.py
commit 03-01 Dora "Remove the use of legacy_total from the program"
printf 'def total(rows):\n    return sum(rows)\n\n\ndef mean(rows):\n    return total(rows) / len(rows)\n' >lib/sums.py
commit 03-17 Eve "Add mean, tidy up"
printf 'Use total. legacy_total was removed.\n' >NOTES
commit 04-01 Bob "Remove legacy_total: notes"
