/**
 * Messages that were sent here and are not yet known to have arrived. Each is kept in the browser with
 * its idempotency key until the server has answered: it survives a lost network, a closed tab and a
 * crash, is sent by itself once the server answers, and the key makes every repeat of it harmless.
 *
 * Messages to one chat are sent one after another, so that they arrive in their order. Two tabs may
 * send the same message: the server takes it once.
 */

import type { Receipt } from "@holdfast/client";
import { ApiError, createId, errorMessage, idempotencyHeader, unwrap } from "@holdfast/client";
import { api, BASE } from "@/api/client";
import { onForget } from "@/lib/forget";
import type { Draft, WhenBusy } from "./actions";
import { indexedDbStorage, type OutboxStorage } from "./outbox-storage";

/** A message as it is kept. `chatId` null: it begins a chat. `why`: the server refused it. */
export interface Unsent {
  readonly clientKey: string;
  readonly userId: string;
  readonly chatId: string | null;
  readonly text: string;
  readonly model: string | null;
  readonly effort: Draft["effort"];
  readonly web: boolean | null;
  /** Not there: kept by an older page. */
  readonly planMode?: boolean | null;
  readonly whenBusy: WhenBusy;
  readonly at: number;
  readonly why: string | null;
}

/** `waiting`: the server did not answer; it is tried again. */
export type UnsentState = "sending" | "waiting" | "failed";

export interface OutboxListener {
  changed(message: Unsent, state: UnsentState): void;
  /** The server has it. */
  landed(message: Unsent, receipt: Receipt): void;
  gone(clientKey: string): void;
}

interface Entry {
  message: Unsent;
  state: UnsentState;
}

const PAUSE_MS = 300;
const PAUSE_MS_MAX = 5000;
/** A request without an answer is given up and repeated. */
const ANSWER_MS = 20_000;

type Post = (message: Unsent) => Promise<Receipt>;

export class Outbox {
  private readonly entries = new Map<string, Entry>();
  private readonly listeners = new Map<string | null, Set<OutboxListener>>();
  private readonly queues = new Map<string | null, Promise<void>>();
  private userId = "";
  /** Wakes what waits for its next try. */
  private wake = new Set<() => void>();

  constructor(
    private readonly storage: OutboxStorage | null,
    private readonly post: Post = postMessage,
  ) {}

  /** The user is known: what an earlier page could not send is sent now. */
  async start(userId: string): Promise<void> {
    if (this.userId === userId) return;
    this.userId = userId;
    const kept = (await this.storage?.all().catch(() => [])) ?? [];
    if (this.userId !== userId) return; // signed out meanwhile
    for (const message of [...kept].sort((one, other) => one.at - other.at)) {
      if (message.userId !== userId) this.unkeep(message.clientKey);
      else if (!this.entries.has(message.clientKey)) this.take(message);
    }
  }

  /** The session has expired: nothing of it stays in the page. What is unsent waits for its user. */
  stop(): void {
    this.userId = "";
    this.entries.clear();
    this.listeners.clear();
    this.queues.clear();
    this.wakeAll();
  }

  /** The user has signed out: nothing of theirs stays in the browser. */
  forget(): void {
    this.stop();
    void this.storage?.clear().catch(() => {});
  }

  /** Hear of the messages to a chat (null: that begin one), first of those that are there. */
  attach(chatId: string | null, listener: OutboxListener): () => void {
    const known = this.listeners.get(chatId) ?? new Set();
    this.listeners.set(chatId, known.add(listener));
    for (const { message, state } of this.entries.values())
      if (message.chatId === chatId) listener.changed(message, state);
    return () => void known.delete(listener);
  }

  add(chatId: string | null, draft: Draft, whenBusy: WhenBusy): string {
    const { text, model, effort = null, web = null, planMode = null } = draft;
    const clientKey = createId();
    const said = { clientKey, userId: this.userId, chatId, text, model, effort, web, planMode };
    this.keep({ ...said, whenBusy, at: Date.now(), why: null });
    return clientKey;
  }

  resend(clientKey: string): void {
    const entry = this.entries.get(clientKey);
    if (entry?.state === "failed") this.keep({ ...entry.message, why: null });
    else this.wakeAll();
  }

  discard(clientKey: string): Draft | null {
    const message = this.entries.get(clientKey)?.message;
    if (message === undefined) return null;
    this.drop(clientKey);
    this.tell(message.chatId, (listener) => listener.gone(clientKey));
    const { text, model, effort, web, planMode = null } = message;
    return { text, model, effort: effort ?? null, web, planMode };
  }

  readonly wakeAll = (): void => {
    for (const wake of this.wake) wake();
  };

  private keep(message: Unsent): void {
    void this.storage?.put(message).catch(() => {}); // forbidden or full: the page still has it
    this.take(message);
  }

  private unkeep(clientKey: string): void {
    void this.storage?.delete(clientKey).catch(() => {});
  }

  private take(message: Unsent): void {
    const { clientKey, chatId } = message;
    const state = message.why === null ? "sending" : "failed";
    this.entries.set(clientKey, { message, state });
    this.tell(chatId, (listener) => listener.changed(message, state));
    if (state === "failed") return;
    const before = this.queues.get(chatId) ?? Promise.resolve();
    this.queues.set(
      chatId,
      before.then(() => this.deliver(clientKey)),
    );
  }

  private drop(clientKey: string): void {
    this.entries.delete(clientKey);
    this.unkeep(clientKey);
    this.wakeAll();
  }

  private async deliver(clientKey: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      const entry = this.entries.get(clientKey);
      if (entry === undefined || entry.state === "failed") return;
      const { message } = entry;
      try {
        const receipt = await this.post(message);
        if (!this.entries.has(clientKey)) return;
        this.drop(clientKey);
        this.tell(message.chatId, (listener) => listener.landed(message, receipt));
        return;
      } catch (error) {
        if (!this.entries.has(clientKey)) return;
        if (isRefusal(error)) return this.fail(message, errorMessage(error));
        this.entries.set(clientKey, { message, state: "waiting" });
        this.tell(message.chatId, (listener) => listener.changed(message, "waiting"));
      }
      await this.pause(Math.min(PAUSE_MS * 2 ** tries, PAUSE_MS_MAX));
    }
  }

  private fail(refused: Unsent, why: string): void {
    const message = { ...refused, why };
    this.entries.set(message.clientKey, { message, state: "failed" });
    void this.storage?.put(message).catch(() => {});
    this.tell(message.chatId, (listener) => listener.changed(message, "failed"));
  }

  /** Until it is time, or there is a reason to try at once. */
  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.wake.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.wake.add(done);
    });
  }

  private tell(chatId: string | null, what: (listener: OutboxListener) => void): void {
    for (const listener of [...(this.listeners.get(chatId) ?? [])]) what(listener);
  }
}

/** The server has decided. 401: the session is over, and the message waits for its user. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && !error.isRetryable && error.status !== 401;
}

function postMessage(message: Unsent): Promise<Receipt> {
  const { clientKey, chatId, text, model, effort = null, web, planMode = null, whenBusy } = message;
  const header = idempotencyHeader(clientKey);
  const signal = AbortSignal.timeout(ANSWER_MS);
  if (chatId === null) {
    const body = { message: { text, model, effort, web, plan_mode: planMode }, tools: [] };
    return unwrap(api.POST("/api/v1/chats", { params: { header }, body, signal }));
  }
  const body = { text, model, effort, web, plan_mode: planMode, when_busy: whenBusy };
  const params = { path: { chat_id: chatId }, header };
  return unwrap(api.POST("/api/v1/chats/{chat_id}/messages", { params, body, signal }));
}

export const outbox = new Outbox(
  globalThis.indexedDB === undefined ? null : indexedDbStorage(BASE),
);
globalThis.addEventListener?.("online", outbox.wakeAll);
globalThis.addEventListener?.("pageshow", outbox.wakeAll);
onForget(() => outbox.stop());
