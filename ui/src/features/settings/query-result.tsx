import { errorMessage } from "@holdfast/client";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { commonStrings } from "@/i18n/en/common";
import { settingsStrings } from "@/i18n/en/settings";
import { Button } from "@/ui/button";
import { EmptyState, Skeleton } from "@/ui/empty-state";

/** What was asked for, once it is there; else that it is on its way, or why it is not. */
export function QueryResult<T>({
  query,
  children,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) {
    return (
      <EmptyState title={settingsStrings.failed} hint={errorMessage(query.error)}>
        <Button onClick={() => query.refetch()}>{commonStrings.retry}</Button>
      </EmptyState>
    );
  }
  return <Skeleton lines={3} />;
}
