import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { ChatActions } from "@/engine/actions";
import { ChatActionsContext } from "@/features/chat/context";
import { STEP_LIMIT } from "@/testing/fixtures";
import { WithQueries } from "@/testing/server";
import { TurnFooter } from "./turn-footer";

afterEach(cleanup);

it("a turn that reached its limit of replies is shown as a pause that a button ends", () => {
  const retried: unknown[] = [];
  const retry = (model: string | null) => {
    retried.push(model);
    return Promise.resolve();
  };
  const actions = { retry } as unknown as ChatActions;
  render(
    <WithQueries>
      <ChatActionsContext value={{ chatId: "chat_1", actions }}>
        <TurnFooter foot={{ is: "failed", error: STEP_LIMIT }} />
      </ChatActionsContext>
    </WithQueries>,
  );
  expect(screen.getByText("Paused")).toBeTruthy();
  expect(screen.queryByText("Retry")).toBeNull();
  fireEvent.click(screen.getByText("Go on"));
  expect(retried).toEqual([null]);
});
