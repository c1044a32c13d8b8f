/** Whether somebody looks for words in the open chat. */
import { useEffect } from "react";
import { create } from "zustand";

export const useFind = create<{ open: boolean }>(() => ({ open: false }));

export function openFind(): void {
  useFind.setState({ open: true });
}

export function closeFind(): void {
  useFind.setState({ open: false });
}

/** ⌘F is ours while a chat is open; pressed again in our own field, it is the browser's. */
export function useFindKey(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isFind = (event.metaKey || event.ctrlKey) && !event.shiftKey && !event.altKey;
      if (!isFind || event.key.toLowerCase() !== "f" || event.isComposing) return;
      const field = document.querySelector<HTMLInputElement>("search input");
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
  }, []);
}
