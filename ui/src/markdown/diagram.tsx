/** A Mermaid diagram as a picture, with its source below; as code until it is drawn, or if it is none. */
import { useEffect, useState } from "react";
import type { Picture } from "@/diagram/draw";
import { markdownStrings as t } from "@/i18n/en/markdown";
import { part } from "@/lib/lazy-import";
import { CodeBlock } from "./code-block";

/** Longer sources take too long to draw. */
const CHARACTERS_MAX = 10_000;

export function Diagram({ code, title }: { code: string; title: string }) {
  const picture = usePicture(code);
  const source = <CodeBlock code={code} language="mermaid" title={title} isWriting={false} />;
  if (picture === null) return source;
  const { address, width, height } = picture;
  return (
    <figure className="diagram" aria-label={t.diagram}>
      <img src={address} alt={t.diagram} width={width} height={height} />
      <details>
        <summary>{t.diagramSource}</summary>
        {source}
      </details>
    </figure>
  );
}

/** `null`: not yet, or never. */
function usePicture(code: string): Picture | null {
  const [drawn, setDrawn] = useState<{ code: string; picture: Picture | null } | null>(null);
  useEffect(() => {
    if (code.length > CHARACTERS_MAX) return;
    let isHere = true;
    const isDark = document.documentElement.dataset.theme === "dark";
    void part(() => import("@/diagram/draw"))
      .then(({ draw }) => draw(code, isDark))
      .then((picture) => isHere && setDrawn({ code, picture }))
      .catch(() => {}); // as code, then
    return () => {
      isHere = false;
    };
  }, [code]);
  return drawn?.code === code ? drawn.picture : null;
}
