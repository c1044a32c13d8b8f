#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir -p .agents/skills/release .agents/skills/review
cat >.agents/skills/release/SKILL.md <<'END'
---
name: release
description: How to make a release of this project. Use it when asked to release or publish a version.
---

1. Write the version to `VERSION`, without a line break at the end.
2. In `CHANGES.md`, replace the heading `## Unreleased` by `## VERSION`, and put a new, empty `## Unreleased` above it.
3. Run `sh .agents/skills/release/seal.sh VERSION`. It writes `release/VERSION.txt`.
4. Write the name of the release to the second line of `release/VERSION.txt`. The name is the third word of the newest entry in `CHANGES.md`, in capital letters.
5. Do not commit, and do not make a tag: that is done by hand.
END
cat >.agents/skills/release/seal.sh <<'END'
#!/bin/sh
# Seals a release: the version, and the checksum of the list of changes.
mkdir -p release
printf '%s %s\n' "$1" "$(sha256sum CHANGES.md | cut -c1-12)" >"release/$1.txt"
END
cat >.agents/skills/review/SKILL.md <<'END'
---
name: review
description: How to review a change of this project. Use it when asked for a review.
---

Read the difference, and write what you found to `review.md`.
END
printf '1.3.2' >VERSION
cat >CHANGES.md <<'END'
# Changes

## Unreleased

- Support for breakwaters in the map.
- Tides are shown in metres.

## 1.3.2

- A mistake in the legend was corrected.
END
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_AUTHOR_DATE="2026-01-05T10:00:00Z" GIT_COMMITTER_DATE="2026-01-05T10:00:00Z"
git init -q -b main
git add -A
git commit -q -m "Version 1.3.2"
