/** Everything by its name: chats and commands. */
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Keyboard, MessageSquare, Monitor, Moon, Plus, Rows3, Settings, Sun } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useState } from "react";
import { useFocusBack } from "@/kit/focus";
import { useChats } from "@/log/list";
import { words } from "@/words";
import { usePreferences } from "./preferences";
import { float, useFloating } from "./shortcuts";

const says = words.palette;
const CHATS_SHOWN = 30;

export default function Palette() {
  const open = useFloating((state) => state.open === "palette");
  const [asked, setAsked] = useState("");
  const focusBack = useFocusBack();
  return (
    <Radix.Root
      open={open}
      onOpenChange={() => {
        float(null);
        setAsked("");
      }}
    >
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[oklch(0_0_0/0.4)]" />
        <Radix.Content
          {...focusBack}
          aria-describedby={undefined}
          className="fixed top-[12dvh] left-1/2 z-50 w-[36rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 overflow-hidden rounded-panel border border-line bg-raised shadow-float"
        >
          <Radix.Title className="sr-only">{says.title}</Radix.Title>
          <Command label={says.title} loop>
            <Command.Input
              value={asked}
              onValueChange={setAsked}
              placeholder={says.ask}
              className="h-11 w-full border-line border-b bg-transparent px-4 text-ui outline-none placeholder:text-faint"
            />
            <Command.List className="max-h-[50dvh] overflow-auto p-1">
              <Command.Empty className="p-4 text-center text-muted">{says.none}</Command.Empty>
              <Choices />
            </Command.List>
          </Command>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Choices() {
  const navigate = useNavigate();
  const { chats } = useChats();
  const { set, density } = usePreferences();
  const done = (act: () => void) => () => {
    float(null);
    act();
  };
  return (
    <>
      <Command.Group heading={says.commands} className={GROUP}>
        <Choice icon={<Plus />} onSelect={done(() => void navigate({ to: "/" }))}>
          {words.newChat}
        </Choice>
        <Choice icon={<Settings />} onSelect={done(() => void navigate({ to: "/settings" }))}>
          {words.settings.title}
        </Choice>
        <Choice icon={<Keyboard />} onSelect={() => float("shortcuts")}>
          {says.shortcuts}
        </Choice>
        <Choice icon={<Sun />} onSelect={done(() => set({ theme: "light" }))}>
          {says.light}
        </Choice>
        <Choice icon={<Moon />} onSelect={done(() => set({ theme: "dark" }))}>
          {says.dark}
        </Choice>
        <Choice icon={<Monitor />} onSelect={done(() => set({ theme: "system" }))}>
          {says.system}
        </Choice>
        <Choice
          icon={<Rows3 />}
          onSelect={done(() => set({ density: density === "compact" ? "comfortable" : "compact" }))}
        >
          {density === "compact" ? says.comfortable : says.compact}
        </Choice>
      </Command.Group>
      <Command.Group heading={says.chats} className={GROUP}>
        {chats.slice(0, CHATS_SHOWN).map((chat) => (
          <Choice
            key={chat.chat_id}
            icon={<MessageSquare />}
            value={`${chat.title ?? words.noTitle} ${chat.chat_id}`}
            onSelect={done(
              () => void navigate({ to: "/chats/$chatId", params: { chatId: chat.chat_id } }),
            )}
          >
            {chat.title ?? words.noTitle}
          </Choice>
        ))}
      </Command.Group>
    </>
  );
}

const GROUP =
  "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-meta [&_[cmdk-group-heading]]:text-faint";

interface ChoiceProps {
  readonly icon: ReactNode;
  readonly value?: string;
  readonly onSelect: () => void;
  readonly children: string;
}

function Choice({ icon, value, onSelect, children }: ChoiceProps) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex h-9 items-center gap-2 rounded-control px-2 text-ui data-[selected=true]:bg-hover coarse:h-11 [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-muted"
    >
      {icon}
      <span className="truncate">{children}</span>
    </Command.Item>
  );
}
