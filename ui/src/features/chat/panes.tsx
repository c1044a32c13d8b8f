/** The panes that show a chat, and which of them keys act on: the one that was used last. */
import {
  createContext,
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useRef,
} from "react";

/** The elements of one pane, as far as others need them. */
export interface PaneRefs {
  readonly log: RefObject<HTMLDivElement | null>;
  readonly findField: RefObject<HTMLInputElement | null>;
  readonly composer: RefObject<HTMLTextAreaElement | null>;
}

export function createPaneRefs(): PaneRefs {
  return { log: { current: null }, findField: { current: null }, composer: { current: null } };
}

const PaneContext = createContext<PaneRefs | null>(null);

/** The field of this pane's composer; outside of a pane, one of its own. */
export function useComposerRef(): RefObject<HTMLTextAreaElement | null> {
  const own = useRef<HTMLTextAreaElement>(null);
  return useContext(PaneContext)?.composer ?? own;
}

/** Panes on the screen; the last one was used last. */
let panes: readonly PaneRefs[] = [];

function activate(pane: PaneRefs): void {
  panes = [...panes.filter((each) => each !== pane), pane];
}

export function isActivePane(pane: PaneRefs): boolean {
  return panes.at(-1) === pane;
}

export function focusComposer(): void {
  panes.at(-1)?.composer.current?.focus();
}

/** A pane. It is used when something in it is pressed or gets the focus. */
export function Pane({ refs, children }: { refs: PaneRefs; children: ReactNode }) {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = root.current;
    const use = () => activate(refs);
    use();
    element?.addEventListener("focusin", use);
    element?.addEventListener("pointerdown", use, true);
    return () => {
      panes = panes.filter((each) => each !== refs);
      element?.removeEventListener("focusin", use);
      element?.removeEventListener("pointerdown", use, true);
    };
  }, [refs]);
  return (
    <PaneContext value={refs}>
      <div ref={root} className="contents">
        {children}
      </div>
    </PaneContext>
  );
}
