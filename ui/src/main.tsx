import "./main.css";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/app";
import { followPreferences } from "@/lib/preferences";

// Styles that primitives make at run time (a scroll lock, say) pass our content security policy by
// the nonce of this very page.
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
if (nonce) setNonce(nonce);

// A tab that is older than the server asks for files that are gone: the new page has new ones.
// Once only, so that a file that is really missing does not reload for ever.
const RELOADED = "holdfast.reloaded";
window.addEventListener("vite:preloadError", (event) => {
  if (sessionStorage.getItem(RELOADED) !== null) return;
  sessionStorage.setItem(RELOADED, "1");
  event.preventDefault();
  location.reload();
});
window.addEventListener("load", () =>
  setTimeout(() => sessionStorage.removeItem(RELOADED), 10_000),
);

followPreferences();
const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
