/**
 * Which addresses in what a model wrote may become a link: whole http(s) and mail addresses.
 *
 * Not relative ones: they would lead to routes of this very server, with the reader's cookie. Not
 * `javascript:`, `data:`, `blob:` and whatever else a browser may one day run.
 */

const SAFE = new Set(["http:", "https:", "mailto:"]);

export function safeAddress(address: string | null | undefined): URL | null {
  if (address === null || address === undefined) return null;
  // A browser drops these when it reads an address, so what we look at must be without them.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is dropped
  const bare = address.replace(/[\u0000-\u0020\u007F-\u00A0]/g, "");
  if (!/^(?:https?:\/\/|mailto:)/i.test(bare)) return null;
  try {
    const url = new URL(bare);
    const named = url.username !== "" || url.password !== "";
    // `https://bank.example@evil.example` shows one host and leads to another.
    return SAFE.has(url.protocol) && !named ? url : null;
  } catch {
    return null;
  }
}

/**
 * Whether a picture may be fetched: over HTTPS, from a host that an administrator trusts. The server
 * writes these into the page, and into the policy that the browser holds it to.
 */
export function isShown(url: URL): boolean {
  const hosts = document.querySelector<HTMLMetaElement>('meta[name="image-hosts"]')?.content ?? "";
  return url.protocol === "https:" && hosts.split(" ").includes(url.host);
}

export function hostOf(address: string | null | undefined): string {
  return safeAddress(address)?.host ?? "unknown address";
}
