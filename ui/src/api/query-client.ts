/** The cache of answers. Components use the hooks; only code outside React imports this. */

import { ApiError } from "@holdfast/client";
import { QueryClient } from "@tanstack/react-query";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 3 && !(error instanceof ApiError && !error.isRetryable),
    },
  },
});
