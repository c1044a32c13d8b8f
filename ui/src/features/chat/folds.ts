/** What is unfolded in one transcript. A component reads one key, so that a toggle draws one row. */
import { createContext, useContext, useSyncExternalStore } from "react";

export class Folds {
  private open: ReadonlySet<string>;
  private readonly listeners = new Set<() => void>();

  constructor(open: Iterable<string> = []) {
    this.open = new Set(open);
  }

  readonly snapshot = (): ReadonlySet<string> => this.open;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly toggle = (key: string): void => {
    const next = new Set(this.open);
    if (!next.delete(key)) next.add(key);
    this.open = next;
    for (const listener of [...this.listeners]) listener();
  };
}

export const FoldsContext = createContext(new Folds());

export function useFold(key: string): { isOpen: boolean; toggle: () => void } {
  const folds = useContext(FoldsContext);
  const isOpen = useSyncExternalStore(folds.subscribe, () => folds.snapshot().has(key));
  return { isOpen, toggle: () => folds.toggle(key) };
}
