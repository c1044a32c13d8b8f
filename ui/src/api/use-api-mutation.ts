/**
 * A change on the server, as forms and buttons need it.
 *
 * While it runs, a second click does nothing. A request whose outcome is unknown (no answer, 5xx) is
 * repeated under the same idempotency key, so that the server does it once; the key changes after a
 * success and after a refusal, when nothing is left to repeat.
 */

import { ApiError, createId, errorMessage, idempotencyHeader } from "@holdfast/client";
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";

interface Change<V, T> {
  readonly request: (variables: V, header: ReturnType<typeof idempotencyHeader>) => Promise<T>;
  /** Each run is a change of its own, such as of another row; the default is one at a time. */
  readonly isParallel?: boolean;
  /** Queries to ask again, whether it worked or not. */
  readonly invalidates?: readonly QueryKey[];
  readonly onSuccess?: (answer: T, variables: V) => void;
  /** For what has no place for an error beside it, such as a button in a table. */
  readonly onError?: (sentence: string) => void;
  /** What was to be changed is no longer as it was seen (`If-Match`); instead of `onError`. */
  readonly onConflict?: (variables: V) => void;
}

export interface ApiMutation<V> {
  readonly run: (variables: V) => void;
  readonly isPending: boolean;
  /** For people; null: nothing failed. */
  readonly error: string | null;
  /** By JSON pointer, such as `/email`. */
  readonly fieldErrors: Readonly<Record<string, string>>;
}

const NO_ERRORS = {};

export function useApiMutation<V, T>(change: Change<V, T>): ApiMutation<V> {
  const client = useQueryClient();
  const key = useRef<string | null>(null);
  const isRunning = useRef(false); // before React has drawn `isPending`
  const mutation = useMutation({
    mutationFn: (variables: V) => {
      if (key.current === null || change.isParallel) key.current = createId();
      return change.request(variables, idempotencyHeader(key.current));
    },
    onSuccess: (answer, variables) => {
      key.current = null;
      change.onSuccess?.(answer, variables);
    },
    onError: (error, variables) => {
      if (error instanceof ApiError && !error.isRetryable) key.current = null;
      const isConflict = error instanceof ApiError && error.status === 412;
      if (isConflict && change.onConflict !== undefined) change.onConflict(variables);
      else change.onError?.(errorMessage(error));
    },
    onSettled: () => {
      isRunning.current = false;
      const queries = (change.invalidates ?? []).map((queryKey) =>
        client.invalidateQueries({ queryKey }),
      );
      return Promise.all(queries);
    },
  });
  return {
    run: (variables) => {
      if (isRunning.current && !change.isParallel) return;
      isRunning.current = true;
      mutation.mutate(variables);
    },
    isPending: mutation.isPending,
    error: mutation.error === null ? null : errorMessage(mutation.error),
    fieldErrors: mutation.error instanceof ApiError ? mutation.error.fieldErrors : NO_ERRORS,
  };
}
