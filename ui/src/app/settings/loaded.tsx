import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { sentenceOf } from "@/api/client";
import { Button } from "@/kit/button";
import { Blank, Skeleton } from "@/kit/state";
import { words } from "@/words";

/** What was asked for, once it is there; else that it is on its way, or why it is not. */
export function Loaded<T>({
  query,
  children,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) {
    return (
      <Blank title={words.settings.failed} hint={sentenceOf(query.error)}>
        <Button onClick={() => query.refetch()}>{words.retry}</Button>
      </Blank>
    );
  }
  return <Skeleton lines={3} />;
}
