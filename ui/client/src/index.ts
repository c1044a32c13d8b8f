/** The public names of the package. */
export {
  type Answer,
  type AskOptions,
  ask,
  MessageRemovedError,
  type WaitOptions,
  waitForTurn,
} from "./ask.js";
export {
  type Client,
  type ClientOptions,
  createClient,
  createId,
  type IdempotencyHeader,
  idempotencyHeader,
  unwrap,
  withRetry,
} from "./client.js";
export { ApiError, errorMessage, NetworkError } from "./errors.js";
export { type Following, followChat } from "./follow.js";
export { textOf } from "./parts.js";
export { asJson, type ChatView, EMPTY, type Preview, reduce } from "./reducer.js";
export type { components, operations, paths } from "./schema.gen.js";
export {
  type Connection,
  type Followed,
  type Open,
  openFetch,
  openSocketOrFetch,
  Stream,
} from "./stream.js";
export type * from "./types.js";
