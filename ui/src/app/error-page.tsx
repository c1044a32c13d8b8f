import { Link } from "@tanstack/react-router";
import { commonStrings as t } from "@/i18n/en/common";
import { Button } from "@/ui/button";
import { EmptyState } from "@/ui/empty-state";

/** In place of a page that broke or could not be loaded. The list of chats stays. */
export function ErrorPage() {
  return (
    <main className="flex flex-1 items-center justify-center">
      <EmptyState title={t.crashed}>
        <Button onClick={() => location.reload()}>{t.reload}</Button>
        <BackToChats />
      </EmptyState>
    </main>
  );
}

/** The data of a `notFound` of a route that only administrators may open. */
export const ADMIN_ONLY = "admin-only";

export function NotFound({ data }: { data?: unknown }) {
  return (
    <main className="flex flex-1 items-center justify-center">
      <EmptyState title={data === ADMIN_ONLY ? t.adminOnly : t.notFound}>
        <BackToChats />
      </EmptyState>
    </main>
  );
}

function BackToChats() {
  return (
    <Link to="/" className="self-center px-2 text-accent underline">
      {t.backToChats}
    </Link>
  );
}
