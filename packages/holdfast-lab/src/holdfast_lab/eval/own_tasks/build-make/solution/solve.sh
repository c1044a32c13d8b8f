#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >Makefile <<'END'
CHAPTERS = chapters/1.txt chapters/2.txt chapters/3.txt

all: out/book.txt

out/book.txt: $(CHAPTERS) Makefile
	mkdir -p out
	cat $(CHAPTERS) > out/book.txt

clean:
	rm -rf out

.PHONY: all clean
END
