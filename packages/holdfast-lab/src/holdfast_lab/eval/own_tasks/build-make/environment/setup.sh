#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir chapters
for n in 1 2 3; do printf 'Chapter %s.\nIt is short.\n' "$n" >"chapters/$n.txt"; done
cat >Makefile <<'END'
CHAPTERS = chapters/1.txt chapters/3.txt chapters/2.txt

all: out/book.txt

out/book.txt: out
        cat $(CHAPTERS) > out/book.txt

out:
	mkdir out

clean
	rm -rf out
END
