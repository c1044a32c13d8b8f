/** A commit costs the same in a turn of 100 tool calls and in one of 2,000. */

import { type ChatState, EMPTY, type Message, type MessagePart } from "@holdfast/client";
import { expect, it } from "vitest";
import { Rows } from "@/engine/rows";
import { message, result, text } from "@/testing/fixtures";
import { itemsOf, settled } from "./items";

const RUNNING = { status: "running", attempt: 1 } as ChatState;

/** Messages that count how often they are taken apart. */
class Turn {
  reads = 0;
  readonly messages: Message[] = [message(1, "user", [text("Go.")])];

  add(): void {
    const seq = this.messages.length + 1;
    const id = `c${seq}`;
    const call = {
      type: "tool_call",
      call_id: id,
      tool_name: "execute",
      arguments: {},
      needs: "nothing",
    } as unknown as MessagePart;
    this.push(message(seq, "assistant", [text("Next."), call]));
    this.push(message(seq + 1, "tool", [result(id, "execute", "done")]));
  }

  private push(said: Message): void {
    const { parts } = said;
    Object.defineProperty(said, "parts", {
      enumerable: true,
      get: () => {
        this.reads++;
        return parts;
      },
    });
    this.messages.push(said);
  }
}

interface Work {
  /** How often a message is taken apart. */
  reads: number;
  /** Messages that are copied into slices. */
  copies: number;
  /** Items that are new objects, and so are drawn. */
  drawn: number;
}

/** The work for one more call in a turn of so many. */
function workOfCommit(calls: number): Work {
  const turn = new Turn();
  const rows = new Rows();
  let copies = 0;
  const draw = () => {
    const messages = turn.messages.slice();
    messages.slice = (from, to) => {
      const some = Array.prototype.slice.call(messages, from, to) as Message[];
      copies += some.length;
      return some;
    };
    const view = { ...EMPTY, messages, state: RUNNING };
    return itemsOf(
      {
        rows: rows.of(view, []),
        older: null,
        live: [],
        status: RUNNING,
        retry: null,
        error: null,
        action: null,
      },
      { open: new Set(), frozen: null },
    );
  };
  for (let n = 0; n < calls; n++) turn.add();
  const before = draw();
  turn.add();
  turn.reads = 0;
  copies = 0;
  const after = settled(before, draw());
  expect(after.filter((item) => item.kind === "tool")).toHaveLength(calls + 1);
  const known = new Set(before);
  const drawn = after.filter((item) => !known.has(item)).length;
  return { reads: turn.reads, copies, drawn };
}

const total = ({ reads, copies, drawn }: Work) => reads + copies + drawn;

/** The figure is printed: `npx vitest run src/features/transcript/long-turn.test.ts`. */
it("the work of a commit grows by less than a quarter from 100 to 2,000 calls", () => {
  const few = workOfCommit(100);
  const many = workOfCommit(2000);
  const growth = total(many) / total(few);
  process.stdout.write(
    `long_turn_growth ${growth.toFixed(2)} (100 calls: ${JSON.stringify(few)}, 2,000 calls: ${JSON.stringify(many)})\n`,
  );
  expect(few.reads).toBeGreaterThan(0);
  expect(few.drawn).toBeGreaterThan(0);
  expect(many.reads).toBeLessThanOrEqual(few.reads * 1.25);
  expect(many.copies).toBeLessThanOrEqual(Math.max(2, few.copies * 1.25));
  expect(many.drawn).toBeLessThanOrEqual(few.drawn * 1.25);
  expect(growth).toBeLessThanOrEqual(1.25);
});
