/** Everything by its name: chats and commands. */
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import {
  Keyboard,
  MessageSquare,
  Monitor,
  Moon,
  Plus,
  Rows3,
  Settings,
  ShieldCheck,
  Sun,
} from "lucide-react";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { useMe } from "@/api/queries/me";
import { useChats } from "@/engine/chat-list";
import { commonStrings } from "@/i18n/en/common";
import { usePreferences } from "@/lib/preferences";
import { paletteField } from "./palette-field";
import { openOverlay } from "./shortcuts";

const t = commonStrings.palette;
const CHATS_SHOWN = 30;

interface PaletteProps {
  readonly asked: string;
  readonly onAsk: (asked: string) => void;
}

export default function Palette({ asked, onAsk }: PaletteProps) {
  const field = useRef<HTMLInputElement>(null);
  // It takes the place of the field that was typed in while this loaded.
  useLayoutEffect(() => {
    const { current } = field;
    current?.focus();
    current?.setSelectionRange(current.value.length, current.value.length);
  }, []);
  return (
    <Command label={t.title} loop>
      <Command.Input
        ref={field}
        value={asked}
        onValueChange={onAsk}
        placeholder={t.ask}
        className={paletteField}
      />
      <Command.List className="max-h-[50dvh] overflow-auto p-1">
        <Command.Empty className="p-4 text-center text-muted">{t.none}</Command.Empty>
        <Choices />
      </Command.List>
    </Command>
  );
}

function Choices() {
  const navigate = useNavigate();
  const { chats } = useChats();
  const { set, density } = usePreferences();
  const isAdmin = useMe().data?.user.role === "admin";
  const done = (act: () => void) => () => {
    openOverlay(null);
    act();
  };
  return (
    <>
      <Command.Group heading={t.commands} className={GROUP}>
        <Choice icon={<Plus />} onSelect={done(() => void navigate({ to: "/" }))}>
          {commonStrings.newChat}
        </Choice>
        <Choice icon={<Settings />} onSelect={done(() => void navigate({ to: "/settings" }))}>
          {commonStrings.sidebar.settings}
        </Choice>
        {isAdmin && (
          <Choice icon={<ShieldCheck />} onSelect={done(() => void navigate({ to: "/admin" }))}>
            {commonStrings.sidebar.administration}
          </Choice>
        )}
        <Choice icon={<Keyboard />} onSelect={() => openOverlay("shortcuts")}>
          {t.shortcuts}
        </Choice>
        <Choice icon={<Sun />} onSelect={done(() => set({ theme: "light" }))}>
          {t.light}
        </Choice>
        <Choice icon={<Moon />} onSelect={done(() => set({ theme: "dark" }))}>
          {t.dark}
        </Choice>
        <Choice icon={<Monitor />} onSelect={done(() => set({ theme: "system" }))}>
          {t.system}
        </Choice>
        <Choice
          icon={<Rows3 />}
          onSelect={done(() => set({ density: density === "compact" ? "comfortable" : "compact" }))}
        >
          {density === "compact" ? t.comfortable : t.compact}
        </Choice>
      </Command.Group>
      <Command.Group heading={t.chats} className={GROUP}>
        {chats.slice(0, CHATS_SHOWN).map((chat) => (
          <Choice
            key={chat.id}
            icon={<MessageSquare />}
            value={`${chat.title ?? commonStrings.noTitle} ${chat.id}`}
            onSelect={done(
              () => void navigate({ to: "/chats/$chatId", params: { chatId: chat.id } }),
            )}
          >
            {chat.title ?? commonStrings.noTitle}
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
