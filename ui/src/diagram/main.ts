/**
 * The frame that draws diagrams. Its document has an origin of its own and may load nothing but
 * scripts of the server: whatever a diagram makes Mermaid do, it reaches neither the page, nor the
 * session, nor the network. What leaves it is the text of an SVG, which the page shows as a picture.
 */
import mermaid from "mermaid";
import type { DiagramRequest, DiagramResponse } from "./messages";

addEventListener("message", ({ source, ports: [port] }: MessageEvent) => {
  if (source !== parent || port === undefined) return;
  port.onmessage = ({ data }: MessageEvent<DiagramRequest>) => {
    void drawn(data).then((picture) =>
      port.postMessage({ id: data.id, picture } satisfies DiagramResponse),
    );
  };
});

async function drawn({ id, source, isDark }: DiagramRequest): Promise<DiagramResponse["picture"]> {
  mermaid.initialize({
    startOnLoad: false,
    suppressErrorRendering: true,
    securityLevel: "strict",
    theme: isDark ? "dark" : "default",
    fontFamily: "system-ui, sans-serif",
    htmlLabels: false, // a picture has no HTML
    flowchart: { htmlLabels: false },
  });
  try {
    const { svg } = await mermaid.render(`d${id}`, source);
    const root = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
    if (root === null) return null;
    const [, , width = 0, height = 0] = (root.getAttribute("viewBox") ?? "")
      .split(/[\s,]+/)
      .map(Number);
    if (!(width > 0 && height > 0)) return null;
    root.setAttribute("width", String(width));
    root.setAttribute("height", String(height));
    return { svg: new XMLSerializer().serializeToString(root), width, height };
  } catch {
    return null;
  }
}
