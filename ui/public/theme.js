// Before the first paint: what was chosen on this device, or what the system says.
(() => {
  let chosen = {};
  try {
    chosen = JSON.parse(localStorage.getItem("holdfast.preferences") ?? "{}").state ?? {};
  } catch {
    // No storage, or not ours: the system's theme is a good one.
  }
  const root = document.documentElement;
  const dark =
    chosen.theme === "dark" ||
    (chosen.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "dark" : "light";
  root.dataset.density = chosen.density === "compact" ? "compact" : "comfortable";
  root.dataset.width = chosen.width === "full" ? "full" : "column";
})();
