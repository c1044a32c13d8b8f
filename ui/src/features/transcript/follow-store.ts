/**
 * Whether the transcript follows or is read, outside React: signs change it at once, and the list with
 * it. A render sees only what it draws; a scroll by itself draws nothing.
 */
import { AT_END, type Follow, follow, type Sign } from "./follow";
import { type List, setEndOptions } from "./virtual-list";

export class FollowStore {
  private state: Follow;
  private drawn: Follow;
  private list: List | null = null;
  private readonly listeners = new Set<() => void>();

  constructor(begin: Follow = AT_END) {
    this.state = begin;
    this.drawn = begin;
  }

  get now(): Follow {
    return this.state;
  }

  /** The list that holds its end while this follows. */
  readonly attach = (list: List): (() => void) => {
    this.list = list;
    return () => {
      this.list = null;
    };
  };

  readonly sign = (sign: Sign): void => {
    this.state = follow(this.state, sign);
    if (this.list !== null) setEndOptions(this.list, this.state.mode);
    if (looksAlike(this.drawn, this.state)) return;
    this.drawn = this.state;
    for (const listener of [...this.listeners]) listener();
  };

  readonly toEnd = (): void => this.list?.scrollToEnd();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): Follow => this.drawn;
}

function looksAlike(one: Follow, other: Follow): boolean {
  return one.mode === other.mode && one.fresh === other.fresh && isFar(one) === isFar(other);
}

/** Whether there is anything below what is seen. */
export function isFar({ distance, fresh }: Follow): boolean {
  return distance > 1 || fresh > 0;
}
