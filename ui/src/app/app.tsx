/** The page: who is it, then the router. */
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { Problem, sentenceOf } from "@/api/client";
import { Button } from "@/kit/button";
import { Blank } from "@/kit/state";
import { Toasts } from "@/kit/toast";
import { TooltipProvider } from "@/kit/tooltip";
import { words } from "@/words";
import { queries, useMe } from "./me";
import { router } from "./router";
import { SignIn } from "./sign-in";

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <TooltipProvider delayDuration={400}>
        <Gate />
        <Toasts />
      </TooltipProvider>
    </QueryClientProvider>
  );
}

function Gate() {
  const me = useMe();
  if (me.data !== undefined) return <RouterProvider router={router} />;
  if (me.error instanceof Problem && me.error.status === 401) return <SignIn />;
  if (me.error !== null) {
    return (
      <main className="flex h-full items-center justify-center">
        <Blank title={sentenceOf(me.error)}>
          <Button onClick={() => me.refetch()}>{words.retry}</Button>
        </Blank>
      </main>
    );
  }
  return null; // a moment
}
