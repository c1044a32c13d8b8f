import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const STATIC = fileURLToPath(
  new URL("../packages/holdfast/src/holdfast/api/static", import.meta.url),
);
const PROJECT = fileURLToPath(new URL("../packages/holdfast/pyproject.toml", import.meta.url));
const PACKABLE = /\.(css|js|json|svg|txt|wasm)$/;
const WORTH_PACKING = 1024;

/** Compresses once, at build time: the server compresses nothing while it serves. */
function packed(): Plugin {
  let folder = STATIC;
  return {
    name: "holdfast-packed",
    apply: "build",
    configResolved: ({ root, build }) => {
      folder = resolve(root, build.outDir);
    },
    closeBundle() {
      const version = /^version = "(.+)"$/m.exec(readFileSync(PROJECT, "utf8"))?.[1];
      writeFileSync(`${folder}/built.json`, JSON.stringify({ version }));
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (!PACKABLE.test(name)) continue;
        const content = readFileSync(`${folder}/${name}`);
        if (content.length < WORTH_PACKING) continue;
        writeFileSync(`${folder}/${name}.br`, brotliCompressSync(content));
        writeFileSync(`${folder}/${name}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

/** Of KaTeX's fonts, the one format that every browser of ours reads. */
function oneFontFormat(): Plugin {
  const others = /,url\([^)]*\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)/g;
  return {
    name: "holdfast-one-font-format",
    enforce: "pre",
    transform: (code, id) => (/katex[^/]*\.css/.test(id) ? code.replaceAll(others, "") : null),
  };
}

// The page is served by the server itself, under any path prefix: every address in it is relative,
// and the server writes how many steps up they start (holdfast.api.ui_files).
export default defineConfig({
  base: "./",
  plugins: [react(), tailwindcss(), oneFontFormat(), packed()],
  resolve: {
    alias: {
      "@": fileURLToPath(new URL("./src", import.meta.url)),
      "@holdfast/client": fileURLToPath(new URL("./client/src/index.ts", import.meta.url)),
    },
  },
  html: { cspNonce: "HOLDFAST_NONCE" },
  build: {
    outDir: STATIC,
    emptyOutDir: true,
    manifest: "manifest.json",
    rolldownOptions: { input: ["index.html", "diagram.html"] },
    target: "es2023",
    assetsInlineLimit: 0, // `data:` is not among what our pages may load
    chunkSizeWarningLimit: 700,
  },
  worker: { format: "es" }, // which may load its languages one by one
  server: { proxy: { "/api": "http://127.0.0.1:8080" } },
  test: {
    environment: "happy-dom",
    environmentOptions: { happyDOM: { settings: { disableIframePageLoading: true } } },
    setupFiles: ["src/testing/setup.ts"],
    isolate: false, // one DOM for all files: to make one for each takes five times as long
    testTimeout: 30_000, // on a busy machine, too
    include: ["src/**/*.test.{ts,tsx}", "client/src/**/*.test.ts"],
  },
});
