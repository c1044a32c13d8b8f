import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { isEmpty, joined, loadDraft, NO_DRAFT, offerDraft, saveDraft, takeOffers } from "./drafts";
import { type Circumstances, meaning, type Press } from "./keys";
import {
  attach,
  compose,
  countLines,
  isLarge,
  PASTE_CHARACTERS_MAX,
  PASTE_LINES_MAX,
} from "./paste";
import { directionOf, move, moved, moveTo } from "./queue";

const ENTER: Press = {
  key: "Enter",
  keyCode: 13,
  isComposing: false,
  shift: false,
  alt: false,
  mod: false,
};
const DESK: Circumstances = { sendKey: "enter", isTouch: false, isEmpty: false, isBusy: false };

describe("a key in the composer", () => {
  it("sends with Enter", () => expect(meaning(ENTER, DESK)).toBe("send"));

  it("does not send while a word is being composed", () => {
    expect(meaning({ ...ENTER, isComposing: true }, DESK)).toBe("nothing");
  });

  it("does not send with the Enter that ends a composition, as Safari reports it", () => {
    expect(meaning({ ...ENTER, keyCode: 229 }, DESK)).toBe("nothing");
  });

  it.each([{ shift: true }, { alt: true }])("begins a new line with %o", (held) => {
    expect(meaning({ ...ENTER, ...held }, DESK)).toBe("newline");
  });

  it("begins a new line on a touch screen", () => {
    expect(meaning(ENTER, { ...DESK, isTouch: true })).toBe("newline");
  });

  it("can be set to send only with Control or Command", () => {
    const setting = { ...DESK, sendKey: "mod-enter" } as const;
    expect(meaning(ENTER, setting)).toBe("newline");
    expect(meaning({ ...ENTER, mod: true }, setting)).toBe("send");
  });

  it("interrupts with Control or Command while the agent works", () => {
    expect(meaning({ ...ENTER, mod: true }, { ...DESK, isBusy: true })).toBe("send now");
    expect(meaning({ ...ENTER, mod: true }, DESK)).toBe("send");
  });

  it("stops with Escape only when there is something to stop", () => {
    expect(meaning({ ...ENTER, key: "Escape" }, { ...DESK, isBusy: true })).toBe("stop");
    expect(meaning({ ...ENTER, key: "Escape" }, DESK)).toBe("nothing");
  });

  it("takes the last message out of the queue with the arrow, if nothing is written", () => {
    expect(meaning({ ...ENTER, key: "ArrowUp" }, { ...DESK, isEmpty: true })).toBe("last queued");
    expect(meaning({ ...ENTER, key: "ArrowUp" }, DESK)).toBe("nothing");
  });
});

describe("a paste", () => {
  it("becomes an attachment when it is long", () => {
    expect(isLarge("x".repeat(PASTE_CHARACTERS_MAX))).toBe(false);
    expect(isLarge("x".repeat(PASTE_CHARACTERS_MAX + 1))).toBe(true);
    expect(isLarge("\n".repeat(PASTE_LINES_MAX - 1))).toBe(false);
    expect(isLarge("\n".repeat(PASTE_LINES_MAX))).toBe(true);
  });

  it("is named apart from the others, also when one was removed", () => {
    const one = attach("a", []);
    const two = attach("b", [one]);
    expect([one.name, two.name]).toEqual(["Pasted text 1", "Pasted text 2"]);
    expect(attach("c", [two]).id).not.toBe(two.id);
  });

  it("is sent in a fence that it cannot end itself", () => {
    const said = compose("why?", [attach("```\ncode\n```\n", [])]);
    expect(said).toBe("why?\n\nPasted text 1:\n````\n```\ncode\n```\n````");
  });

  it("counts no further than it has to", () => {
    expect(countLines("a\nb\nc")).toBe(3);
    expect(countLines("a\nb\nc", 2)).toBe(2);
  });
});

describe("a draft", () => {
  beforeEach(() => localStorage.clear());

  it("is kept for its own chat", () => {
    saveDraft("one", { text: "begun", attachments: [attach("long", [])] });
    expect(loadDraft("one")).toEqual({
      text: "begun",
      attachments: [{ id: "paste-1", name: "Pasted text 1", text: "long" }],
    });
    expect(loadDraft("two")).toEqual(NO_DRAFT);
  });

  it("leaves nothing behind when it is empty", () => {
    saveDraft("one", { text: "begun", attachments: [] });
    saveDraft("one", { text: "  ", attachments: [] });
    expect(localStorage.length).toBe(0);
    expect(isEmpty(loadDraft("one"))).toBe(true);
  });

  it.each(["{", "[]", '{"text":1}', '{"text":"a","attachments":[{}]}'])(
    "is not fooled by %s",
    (kept) => {
      localStorage.setItem("holdfast.draft.one", kept);
      expect(loadDraft("one")).toEqual(NO_DRAFT);
    },
  );

  it("survives a store that refuses", () => {
    const refusing = {
      getItem: () => {
        throw new Error("no");
      },
      setItem: () => {
        throw new Error("full");
      },
    } as unknown as Storage;
    expect(() => saveDraft("one", { text: "a", attachments: [] }, refusing)).not.toThrow();
    expect(loadDraft("one", refusing)).toEqual(NO_DRAFT);
  });

  it("keeps the words when all of it is too much", () => {
    saveDraft("one", { text: "words", attachments: [attach("x".repeat(600_000), [])] });
    expect(loadDraft("one")).toEqual({ text: "words", attachments: [] });
  });

  it("is added to by what is taken back, open or not", () => {
    offerDraft("one", "back");
    expect(loadDraft("one").text).toBe("back");
    const taken: string[] = [];
    const stop = takeOffers("one", (text) => taken.push(text));
    offerDraft("one", "again");
    stop();
    expect(taken).toEqual(["again"]);
    expect(joined("begun", "back")).toBe("begun\n\nback");
  });
});

describe("a drag in the queue", () => {
  it("ends where the row was let go, and at an end beyond it", () => {
    expect(moveTo([1, 2, 3], 1, 1)).toEqual({ queuedId: 1, before: 3 });
    expect(moveTo([1, 2, 3], 3, -4)).toEqual({ queuedId: 3, before: 1 });
    expect(moveTo([1, 2, 3], 1, 9)).toEqual({ queuedId: 1, before: null });
  });

  it("to where the row is asks for nothing", () => {
    expect(moveTo([1, 2, 3], 2, 1)).toBeNull();
    expect(moveTo([1, 2, 3], 9, 0)).toBeNull();
  });
});

describe("a move in the queue", () => {
  it("is said as a place before another", () => {
    expect(move([1, 2, 3], 3, "up")).toEqual({ queuedId: 3, before: 2 });
    expect(move([1, 2, 3], 1, "down")).toEqual({ queuedId: 1, before: 3 });
    expect(move([1, 2, 3], 2, "down")).toEqual({ queuedId: 2, before: null });
    expect(move([1, 2, 3], 3, "first")).toEqual({ queuedId: 3, before: 1 });
  });

  it("is nothing where there is no place to go", () => {
    expect(move([1, 2], 1, "up")).toBeNull();
    expect(move([1, 2], 2, "last")).toBeNull();
    expect(move([1, 2], 9, "up")).toBeNull();
  });

  it("moves that one message and no other", () => {
    const ids = fc.uniqueArray(fc.nat(), { minLength: 2, maxLength: 8 });
    const direction = fc.constantFrom("up", "down", "first", "last" as const);
    fc.assert(
      fc.property(ids, fc.nat(), direction, (queue, pick, way) => {
        const id = queue[pick % queue.length] as number;
        const wanted = move(queue, id, way);
        if (wanted === null) return;
        const after = moved(queue, wanted);
        const to = {
          up: queue.indexOf(id) - 1,
          down: queue.indexOf(id) + 1,
          first: 0,
          last: queue.length - 1,
        }[way];
        expect(after.indexOf(id)).toBe(to);
        expect(after.filter((each) => each !== id)).toEqual(queue.filter((each) => each !== id));
      }),
    );
  });

  it("goes last when the one before which it was placed is gone", () => {
    expect(moved([1, 2], { queuedId: 1, before: 7 })).toEqual([2, 1]);
  });

  it("goes by Alt and the arrows", () => {
    expect(directionOf("ArrowUp", true)).toBe("up");
    expect(directionOf("ArrowUp", false)).toBeNull();
    expect(directionOf("x", true)).toBeNull();
  });
});
