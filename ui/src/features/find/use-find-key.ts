import { useEffect } from "react";
import { isActivePane } from "@/features/chat/panes";
import type { ChatSession } from "@/features/chat/session";

/**
 * Ctrl-F opens the find bar of the pane that was used last. Pressed again in its field, it opens the
 * search of the browser.
 */
export function useFindKey({ refs, openFind, closeFind }: ChatSession): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isFind = (event.metaKey || event.ctrlKey) && !event.shiftKey && !event.altKey;
      if (!isFind || event.key.toLowerCase() !== "f" || event.isComposing) return;
      if (!isActivePane(refs)) return;
      const field = refs.findField.current;
      if (field !== null && field === document.activeElement) return closeFind();
      event.preventDefault();
      openFind();
      field?.select();
    };
    window.addEventListener("keydown", press);
    return () => {
      window.removeEventListener("keydown", press);
      closeFind();
    };
  }, [refs, openFind, closeFind]);
}
