import type { Branch } from "@holdfast/client";

const NONE: ReadonlyMap<number, readonly Branch[]> = new Map();

/**
 * Which message took the place of a history that was left behind: the first that is not before its
 * first seq, since seqs only rise.
 */
export function versionsBySeq(
  paths: readonly Branch[],
  seqs: readonly number[],
): ReadonlyMap<number, readonly Branch[]> {
  if (paths.length === 0) return NONE; // the same one always: whoever draws it need not again
  const versions = new Map<number, Branch[]>();
  for (const path of paths) {
    const seq = seqs.find((each) => each >= path.first_seq);
    if (seq === undefined) continue;
    versions.set(
      seq,
      [...(versions.get(seq) ?? []), path].sort((a, b) => b.version - a.version),
    );
  }
  return versions;
}
