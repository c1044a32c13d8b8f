/** The panes: the list beside the chat where there is room, above it where there is none. */

import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { PanelLeft } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { lazy, Suspense, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useMe } from "@/api/queries/me";
import { chatList } from "@/engine/chat-list";
import { focusComposer } from "@/features/chat/panes";
import { Sidebar } from "@/features/chat-list/sidebar";
import { useNotices } from "@/features/notifications/notifications";
import { PaletteDialog } from "@/features/palette/palette-dialog";
import { Shortcuts, useOverlay, useShortcuts } from "@/features/palette/shortcuts";
import { useSharing } from "@/features/sharing/sharing-state";
import { commonStrings } from "@/i18n/en/common";
import { part } from "@/lib/lazy-import";
import { usePreferences } from "@/lib/preferences";
import { Button } from "@/ui/button";
import { useFocusBack } from "@/ui/focus";
import { ConnectionBar } from "./connection-bar";
import { clamped, Resizer } from "./resizer";
import { SimulatorBar } from "./simulator-bar";

const Sharing = lazy(() => part(() => import("@/features/sharing/sharing")));
const outboxPart = () => part(() => import("@/engine/outbox"));
const wide = matchMedia("(min-width: 1000px)");

function useWide(): boolean {
  return useSyncExternalStore(
    (changed) => {
      wide.addEventListener("change", changed);
      return () => wide.removeEventListener("change", changed);
    },
    () => wide.matches,
  );
}

export function Layout() {
  const isWide = useWide();
  const docked = usePreferences((chosen) => chosen.sidebar);
  const px = clamped(usePreferences((chosen) => chosen.sidebarPx));
  const set = usePreferences((chosen) => chosen.set);
  const [drawer, setDrawer] = useState(false);
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => chatList.start(), []);
  const userId = useMe().data?.user.id;
  useEffect(() => {
    // What an earlier page could not send goes from any page.
    if (userId !== undefined) void outboxPart().then(({ outbox }) => outbox.start(userId));
  }, [userId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: wherever one goes, the drawer closes
  useEffect(() => setDrawer(false), [path]);
  const act = useMemo(
    () => ({
      newChat: () => void navigate({ to: "/" }),
      goTo: (chatId: string) => void navigate({ to: "/chats/$chatId", params: { chatId } }),
      sidebar: () =>
        wide.matches
          ? set({ sidebar: !usePreferences.getState().sidebar })
          : setDrawer((open) => !open),
    }),
    [navigate, set],
  );
  useShortcuts(act);
  useNotices(act.goTo);
  const shown = isWide && docked;
  return (
    <div className="flex h-full pt-[env(safe-area-inset-top)] pr-[env(safe-area-inset-right)] pl-[env(safe-area-inset-left)]">
      <button
        type="button"
        onClick={focusComposer}
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-control focus:bg-raised focus:p-2"
      >
        {commonStrings.skipToMessage}
      </button>
      {shown && (
        <nav
          aria-label={commonStrings.sidebar.label}
          className="relative flex shrink-0 flex-col border-line border-r bg-subtle"
          style={{ width: px }}
        >
          <Sidebar onHide={act.sidebar} />
          <Resizer px={px} onChange={(sidebarPx) => set({ sidebarPx })} />
        </nav>
      )}
      {!isWide && <Drawer open={drawer} onOpenChange={setDrawer} />}
      <div className="relative flex min-w-0 flex-1 flex-col">
        {!shown && (
          <Button
            variant="plain"
            size="icon"
            aria-label={commonStrings.sidebar.open}
            onClick={act.sidebar}
            className="absolute top-1.5 left-2 z-10 coarse:top-0"
          >
            <PanelLeft />
          </Button>
        )}
        <ConnectionBar />
        <SimulatorBar besideButton={!shown} />
        <Outlet />
      </div>
      <Overlays />
    </div>
  );
}

function Drawer({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const focusBack = useFocusBack();
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-30 bg-[oklch(0_0_0/0.4)]" />
        <Radix.Content
          {...focusBack}
          aria-describedby={undefined}
          className="fixed inset-y-0 left-0 z-40 flex w-[300px] max-w-[86vw] flex-col bg-subtle pt-[env(safe-area-inset-top)] pb-[env(safe-area-inset-bottom)] shadow-float"
        >
          <Radix.Title className="sr-only">{commonStrings.sidebar.label}</Radix.Title>
          <nav aria-label={commonStrings.sidebar.label} className="flex min-h-0 flex-1 flex-col">
            <Sidebar onHide={() => onOpenChange(false)} />
          </nav>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Overlays() {
  const open = useOverlay((state) => state.open);
  const sharing = useSharing((state) => state.chat !== null);
  return (
    <>
      <Shortcuts />
      {open === "palette" && <PaletteDialog />}
      {sharing && (
        <Suspense>
          <Sharing />
        </Suspense>
      )}
    </>
  );
}
