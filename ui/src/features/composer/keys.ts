/** What a key press in the composer means. Pure, so that every input method can be tried in a table. */

export type SendKey = "enter" | "mod-enter";

export interface Press {
  key: string;
  keyCode: number;
  isComposing: boolean;
  shift: boolean;
  alt: boolean;
  /** Control, or Command on a Mac. */
  mod: boolean;
}

export type Meaning = "send" | "send now" | "newline" | "stop" | "last queued" | "nothing";

export interface Circumstances {
  sendKey: SendKey;
  /** A finger, not a mouse: Enter is a new line, and a button sends. */
  isTouch: boolean;
  isEmpty: boolean;
  isBusy: boolean;
}

/** What Safari reports for the Enter that ends a composition, after `isComposing` has gone false. */
const KEY_CODE_OF_INPUT_METHOD = 229;

export function meaning(press: Press, now: Circumstances): Meaning {
  if (press.isComposing || press.keyCode === KEY_CODE_OF_INPUT_METHOD) return "nothing";
  if (press.key === "Escape") return now.isBusy ? "stop" : "nothing";
  if (press.key === "ArrowUp") {
    return now.isEmpty && !press.shift && !press.alt && !press.mod ? "last queued" : "nothing";
  }
  if (press.key !== "Enter") return "nothing";
  if (press.shift || press.alt) return "newline";
  if (now.sendKey === "mod-enter") return press.mod ? "send" : "newline";
  if (press.mod) return now.isBusy ? "send now" : "send";
  return now.isTouch ? "newline" : "send";
}

/** A key press as the browser reports it. */
export function pressOf(event: {
  key: string;
  keyCode: number;
  shiftKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  ctrlKey: boolean;
  nativeEvent: { isComposing: boolean };
}): Press {
  return {
    key: event.key,
    keyCode: event.keyCode,
    isComposing: event.nativeEvent.isComposing,
    shift: event.shiftKey,
    alt: event.altKey,
    mod: event.metaKey || event.ctrlKey,
  };
}
