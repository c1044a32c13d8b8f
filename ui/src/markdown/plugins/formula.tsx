/** A formula: typeset once KaTeX is there, its source before that and if KaTeX refuses it. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { markdownStrings as t } from "@/i18n/en/markdown";
import { part } from "@/lib/lazy-import";
import { formulaIn } from "./tex";

type Typeset = typeof import("./typeset").typeset;

let typeset: Typeset | null = null;

interface FormulaProps {
  /** As it was written, with the marks around it. */
  source: string;
  /** It is a block of its own. */
  isBlock?: boolean;
}

export function Formula({ source, isBlock = false }: FormulaProps) {
  const formula = useMemo(() => formulaIn(source), [source]);
  const draw = useTypeset(formula !== null);
  const drawn = useMemo(
    () => (draw === null || formula === null ? null : draw(formula.tex, formula.isDisplay)),
    [draw, formula],
  );
  if (drawn !== null) return <Drawn node={drawn} isDisplay={formula?.isDisplay === true} />;
  return isBlock ? <pre className="verbatim">{source}</pre> : source;
}

function Drawn({ node, isDisplay }: { node: HTMLElement; isDisplay: boolean }) {
  const ref = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => ref.current?.replaceChildren(node), [node]);
  if (!isDisplay) return <span ref={ref} className="formula" dir="ltr" />;
  return (
    // biome-ignore lint/a11y/useSemanticElements: it stands in paragraphs, too, where no section may
    <span
      ref={ref}
      className="formula display"
      dir="ltr"
      role="group"
      aria-label={t.formula}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
      tabIndex={0}
    />
  );
}

/** KaTeX is fetched for the first formula. `null`: not yet, or never. */
function useTypeset(isWanted: boolean): Typeset | null {
  const [known, setKnown] = useState<{ draw: Typeset | null }>({ draw: typeset });
  useEffect(() => {
    if (!isWanted || known.draw !== null) return;
    let isHere = true;
    void part(() => import("./typeset"))
      .then((loaded) => {
        typeset = loaded.typeset;
        if (isHere) setKnown({ draw: typeset });
      })
      .catch(() => {}); // as its source, then
    return () => {
      isHere = false;
    };
  }, [isWanted, known.draw]);
  return known.draw;
}
