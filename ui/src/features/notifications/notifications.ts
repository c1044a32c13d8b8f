/**
 * Telling of chats that ended, failed or need somebody: in the page to who looks at another chat,
 * through the browser to who looks elsewhere. Who looks at the chat itself sees it.
 *
 * The browser is asked for its permission only after a first long run, and by a button: nobody can
 * say what they would be told of before.
 */
import { useEffect } from "react";
import { BASE } from "@/api/client";
import { meQuery } from "@/api/queries/me";
import { queryClient } from "@/api/query-client";
import { chatList } from "@/engine/chat-list";
import { type News, NewsWatch } from "@/engine/news";
import { commonStrings } from "@/i18n/en/common";
import { usePreferences } from "@/lib/preferences";
import { showToast } from "@/ui/toast";

const t = commonStrings.notices;
/** Shorter runs end before anybody looks away. */
const WORTH_TELLING_MS = 5_000;
const LONG_MS = 30_000;
const ASKED = "holdfast.notices-asked";

export type Way = "nothing" | "page" | "browser";

interface Circumstances {
  /** The page is in front of somebody. */
  readonly attended: boolean;
  /** And shows this very chat. */
  readonly here: boolean;
  readonly wanted: boolean;
  readonly granted: boolean;
}

export function wayOf(news: Pick<News, "kind" | "ranMs">, now: Circumstances): Way {
  if (!now.wanted || (now.attended && now.here)) return "nothing";
  if (news.kind === "finished" && news.ranMs < WORTH_TELLING_MS) return "nothing";
  if (now.attended) return "page";
  return now.granted ? "browser" : "nothing";
}

/** Whether to offer notices now: after a long run, where they are possible, once. */
export function isTimeToAsk(
  news: Pick<News, "ranMs">,
  permission: NotificationPermission | null,
  wanted: boolean,
  asked: boolean,
): boolean {
  return news.ranMs >= LONG_MS && permission === "default" && wanted && !asked;
}

/** Null where the browser has no notices, or only for pages over HTTPS. */
export function permissionNow(): NotificationPermission | null {
  return typeof Notification === "undefined" ? null : Notification.permission;
}

export async function allowNotices(): Promise<NotificationPermission> {
  return permissionNow() === null ? "denied" : await Notification.requestPermission();
}

/** `goTo`: opens a chat; must stay the same. */
export function useNotices(goTo: GoTo): void {
  useEffect(() => {
    const watch = new NewsWatch();
    return chatList.subscribe(() => {
      const { chats, isLoaded } = chatList.snapshot().view;
      if (!isLoaded) return;
      for (const news of watch.look(chats, Date.now())) tell(news, goTo);
    });
  }, [goTo]);
}

type GoTo = (chatId: string) => void;

function tell(news: News, goTo: GoTo): void {
  const { chat } = news;
  if (chat.owner_id !== queryClient.getQueryData(meQuery.queryKey)?.user.id) return;
  const permission = permissionNow();
  const wanted = usePreferences.getState().notify;
  const way = wayOf(news, {
    attended: document.visibilityState === "visible" && document.hasFocus(),
    here: location.pathname.endsWith(`/chats/${chat.id}`),
    wanted,
    granted: permission === "granted",
  });
  const sentence = t[news.kind](chat.title ?? commonStrings.noTitle);
  if (way === "page") {
    const open = { label: t.open, act: () => goTo(chat.id) };
    showToast(sentence, news.kind === "failed" ? "danger" : "plain", open);
  }
  if (way === "browser") throughBrowser(chat.id, sentence, goTo);
  if (isTimeToAsk(news, permission, wanted, localStorage.getItem(ASKED) !== null)) offer();
}

function throughBrowser(chatId: string, sentence: string, goTo: GoTo): void {
  try {
    // One per chat: what comes later takes the place of what is no longer true.
    const notice = new Notification(sentence, { tag: chatId, icon: `${BASE}icon.svg` });
    notice.onclick = () => {
      window.focus();
      notice.close();
      goTo(chatId);
    };
  } catch {
    // Some phones have notices only for installed pages. The list shows it all the same.
  }
}

function offer(): void {
  localStorage.setItem(ASKED, "1");
  showToast(t.offer, "plain", { label: t.allow, act: () => void allowNotices() });
}
