/**
 * A part of the page that comes when it is first asked for.
 *
 * A file that is gone loads the page anew (main.tsx), and until it has, its import is answered with
 * nothing: nobody may go on with that, or an error is drawn where the new page is about to be.
 * The second time it is really missing. It is said in words of ours, by which the router does not
 * know it for a missing file: told otherwise, it would load the page anew once more.
 */
export async function part<T>(load: () => Promise<T | undefined>): Promise<T> {
  const loaded = await load().catch((why: unknown) => {
    throw new Error(`A part of the page is missing: ${why}`);
  });
  return loaded ?? new Promise<never>(() => {});
}
