import { type ReactNode, useState } from "react";
import { Writing } from "@/features/composer/composer";
import { saveDraft } from "@/features/composer/drafts";
import * as f from "@/testing/fixtures";
import { Group, State } from "./frame";

const MODELS = ["sim-large", "sim-small"];
const QUEUE = [
  f.queued(1, "Then update the change log.", true),
  f.queued(2, "And say in one sentence what was wrong, for the team."),
  f.queued(
    3,
    "Afterwards look at the other services, too: they may have copied the clock, and then they have the same mistake.",
  ),
];

/** The draft is there before its composer is. */
function WithDraft({
  chat,
  text,
  paste,
  children,
}: {
  chat: string;
  text: string;
  paste?: string;
  children: ReactNode;
}) {
  useState(() => {
    const attachments =
      paste === undefined ? [] : [{ id: "paste-1", name: "Pasted text 1", text: paste }];
    saveDraft(chat, { text, attachments });
    return null;
  });
  return children;
}

export function ComposerStates() {
  const common = {
    log: null,
    models: MODELS,
    defaultModel: "sim-large",
    onSend: () => {},
    actions: f.ACTIONS,
    refused: null,
  };
  return (
    <Group title="Composer">
      <State name="Empty">
        <Writing {...common} chatId="gallery-empty" mode="idle" />
      </State>
      <State name="Written, with a large paste">
        <WithDraft
          chat="gallery-draft"
          text={"Why does this fail?\nIt worked yesterday."}
          paste={f.PYTEST.repeat(6)}
        >
          <Writing {...common} chatId="gallery-draft" mode="idle" />
        </WithDraft>
      </State>
      <State name="While the agent works, with a queue">
        <WithDraft chat="gallery-busy" text="And then push it.">
          <Writing {...common} chatId="gallery-busy" mode="busy" queue={QUEUE} />
        </WithDraft>
      </State>
      <State name="Stopping">
        <Writing {...common} chatId="gallery-stopping" mode="stopping" />
      </State>
      <State name="Refused">
        <Writing
          {...common}
          chatId="gallery-refused"
          mode="idle"
          refused="This chat is archived. Bring it back to write in it."
        />
      </State>
    </Group>
  );
}
