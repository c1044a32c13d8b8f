/** The addresses of the page. What is heavy comes when it is first gone to. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
} from "@tanstack/react-router";
import { BASE } from "@/api/client";
import { part } from "@/kit/part";
import { Blank } from "@/kit/state";
import { words } from "@/words";
import { Broken } from "./broken";
import { Layout } from "./layout";

function NotFound() {
  return (
    <Blank title={words.notFound}>
      <Link to="/" className="text-accent underline">
        {words.backToChats}
      </Link>
    </Blank>
  );
}

const root = createRootRoute({ component: Layout, notFoundComponent: NotFound });

export const newChatRoute = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => part(() => import("./chat")), "NewChat"),
});

export const chatRoute = createRoute({
  getParentRoute: () => root,
  path: "/chats/$chatId",
  component: lazyRouteComponent(() => part(() => import("./chat")), "ChatPage"),
});

export const settingsRoute = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => part(() => import("./settings")), "Settings"),
});

/** Every state of every part, for those who change them. */
const galleryRoute = createRoute({
  getParentRoute: () => root,
  path: "/dev/gallery",
  component: lazyRouteComponent(() => part(() => import("@/gallery/gallery")), "Gallery"),
});

export const router = createRouter({
  routeTree: root.addChildren([newChatRoute, chatRoute, settingsRoute, galleryRoute]),
  basepath: BASE,
  defaultPreload: false,
  defaultErrorComponent: Broken,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
