/** What happy-dom lacks, and a page with a document type has: KaTeX looks for it. */
Object.defineProperty(document, "compatMode", { value: "CSS1Compat", configurable: true });
