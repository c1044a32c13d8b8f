/** The page: who is it, then the router. */

import { ApiError, errorMessage } from "@holdfast/client";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useMe } from "@/api/queries/me";
import { queryClient } from "@/api/query-client";
import { SignIn } from "@/features/auth/sign-in";
import { commonStrings } from "@/i18n/en/common";
import { Button } from "@/ui/button";
import { EmptyState } from "@/ui/empty-state";
import { Toasts } from "@/ui/toast";
import { TooltipLayer } from "@/ui/tooltip";
import { router } from "./router";

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <Gate />
      <Toasts />
      <TooltipLayer />
    </QueryClientProvider>
  );
}

function Gate() {
  const me = useMe();
  if (me.data !== undefined) return <RouterProvider router={router} />;
  if (me.error instanceof ApiError && me.error.status === 401) return <SignIn />;
  if (me.error !== null) {
    return (
      <main className="flex h-full items-center justify-center">
        <EmptyState title={errorMessage(me.error)}>
          <Button onClick={() => me.refetch()}>{commonStrings.retry}</Button>
        </EmptyState>
      </main>
    );
  }
  return null; // a moment
}
