/** The page: who is it, then the router. */

import { ApiError, errorMessage } from "@holdfast/client";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { useMe } from "@/api/queries/me";
import { queryClient } from "@/api/query-client";
import { signInOnce, takeToken } from "@/features/auth/once";
import { SignIn } from "@/features/auth/sign-in";
import { commonStrings } from "@/i18n/en/common";
import { part } from "@/lib/lazy-import";
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

const SetPassword = lazy(() =>
  part(() => import("@/features/auth/invite")).then((found) => ({ default: found.SetPassword })),
);

// Once, before the router reads the address.
const token = takeToken("once");
const invitation = takeToken("invite");
const signedIn = token === null ? null : signInOnce(token);

function Gate() {
  const once = useOnce();
  const [invite, setInvite] = useState(invitation);
  const me = useMe();
  if (once.busy) return null; // a moment
  if (invite !== null) {
    return (
      <Suspense fallback={null}>
        <SetPassword token={invite} onDone={() => setInvite(null)} />
      </Suspense>
    );
  }
  if (me.data !== undefined) return <RouterProvider router={router} />;
  if (me.error instanceof ApiError && me.error.status === 401) return <SignIn why={once.why} />;
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

/** `why`: the link did not sign in; who is signed in already need not know. */
function useOnce() {
  const [state, setState] = useState<{ busy: boolean; why: string | null }>({
    busy: signedIn !== null,
    why: null,
  });
  useEffect(() => {
    signedIn?.then(
      () => setState({ busy: false, why: null }),
      (error: unknown) => setState({ busy: false, why: errorMessage(error) }),
    );
  }, []);
  return state;
}
