import { useRef } from "react";

/**
 * For what floats: Radix gives the focus back to the button that opened it, and ours are opened by keys
 * as well; so it goes back to whatever had it.
 */
export function useFocusBack() {
  const before = useRef<Element | null>(null);
  return {
    onOpenAutoFocus: () => {
      before.current = document.activeElement;
    },
    onCloseAutoFocus: (event: Event) => {
      event.preventDefault();
      const { current } = before;
      if (current instanceof HTMLElement && current.isConnected)
        current.focus({ preventScroll: true });
    },
  };
}
