/** Routes. Heavy pages are loaded lazily. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  redirect,
} from "@tanstack/react-router";
import { BASE } from "@/api/client";
import { meQuery } from "@/api/queries/me";
import { queryClient } from "@/api/query-client";
import {
  FIRST_ADMIN_SECTION,
  isAdminSectionName,
  MOVED,
  validateAdminSearch,
} from "@/features/admin/sections";
import { validateChatSearch } from "@/features/chat/search";
import { FIRST_SECTION, isSection, validateSectionSearch } from "@/features/settings/sections";
import { part } from "@/lib/lazy-import";
import { ADMIN_ONLY, ErrorPage, NotFound } from "./error-page";
import { Layout } from "./layout/layout";

const root = createRootRoute({ component: Layout, notFoundComponent: NotFound });

const newChatRoute = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => part(() => import("./routes/chat/chat")), "NewChat"),
});

const chatRoute = createRoute({
  getParentRoute: () => root,
  path: "/chats/$chatId",
  validateSearch: validateChatSearch,
  component: lazyRouteComponent(() => part(() => import("./routes/chat/chat")), "ChatPage"),
});

const settingsRoute = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => part(() => import("@/features/settings")), "Settings"),
});

const settingsIndexRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: "/",
  beforeLoad: () => {
    throw redirect({
      to: "/settings/$section",
      params: { section: FIRST_SECTION },
      replace: true,
    });
  },
});

const settingsSectionRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: "$section",
  validateSearch: validateSectionSearch,
  beforeLoad: ({ params }) => {
    const moved = MOVED[params.section];
    if (moved !== undefined) {
      throw redirect({ to: "/admin/$section", params: { section: moved }, replace: true });
    }
    if (!isSection(params.section)) throw notFound();
  },
  component: lazyRouteComponent(() => part(() => import("@/features/settings")), "SettingsSection"),
});

const adminRoute = createRoute({
  getParentRoute: () => root,
  path: "/admin",
  beforeLoad: async () => {
    const me = await queryClient.ensureQueryData(meQuery);
    if (me.user.role !== "admin") throw notFound({ data: ADMIN_ONLY });
  },
  component: lazyRouteComponent(() => part(() => import("@/features/admin")), "Admin"),
});

const adminIndexRoute = createRoute({
  getParentRoute: () => adminRoute,
  path: "/",
  beforeLoad: () => {
    throw redirect({
      to: "/admin/$section",
      params: { section: FIRST_ADMIN_SECTION },
      replace: true,
    });
  },
});

const adminSectionRoute = createRoute({
  getParentRoute: () => adminRoute,
  path: "$section",
  validateSearch: validateAdminSearch,
  beforeLoad: ({ params }) => {
    if (!isAdminSectionName(params.section)) throw notFound();
  },
  component: lazyRouteComponent(() => part(() => import("@/features/admin")), "AdminSection"),
});

/** Every state of every component, in development builds and test builds only. */
const galleryRoutes =
  import.meta.env.DEV || import.meta.env.MODE === "test"
    ? [
        createRoute({
          getParentRoute: () => root,
          path: "/dev/gallery",
          component: lazyRouteComponent(
            () => part(() => import("@/dev/gallery/gallery")),
            "Gallery",
          ),
        }),
      ]
    : [];

export const router = createRouter({
  routeTree: root.addChildren([
    newChatRoute,
    chatRoute,
    settingsRoute.addChildren([settingsIndexRoute, settingsSectionRoute]),
    adminRoute.addChildren([adminIndexRoute, adminSectionRoute]),
    ...galleryRoutes,
  ]),
  basepath: BASE,
  defaultPreload: false,
  defaultErrorComponent: ErrorPage,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
