import { useEffect, useRef, useState } from "react";
import { commonStrings } from "@/i18n/en/common";
import { transcriptStrings } from "@/i18n/en/transcript";
import { Button } from "@/ui/button";
import { Textarea } from "@/ui/textarea";

const t = transcriptStrings.editor;

interface EditorProps {
  text: string;
  onChange: (text: string) => void;
  onCancel: () => void;
  onSend: (text: string) => Promise<void>;
}

/** A message, to be said differently. What was typed survives a reload. */
export function Editor({ text, onChange, onCancel, onSend }: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  useEffect(() => {
    const { current } = area;
    current?.focus({ preventScroll: true });
    current?.setSelectionRange(current.value.length, current.value.length);
  }, []);
  const send = () => {
    if (text.trim() === "" || isSending) return;
    setSending(true);
    setFailure(null);
    onSend(text.trim())
      .then(onCancel)
      .catch((problem: unknown) => {
        setSending(false);
        setFailure(problem instanceof Error ? problem.message : t.failed);
      });
  };
  return (
    <form
      aria-label={t.form}
      className="mb-3 rounded-card border border-line-strong bg-raised p-2 focus-within:border-accent focus-within:ring-1 focus-within:ring-accent"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Textarea
        ref={area}
        aria-label={t.field}
        value={text}
        rows={1}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing || event.keyCode === 229) return;
          if (event.key === "Escape") onCancel();
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) send();
        }}
        className="block max-h-[50dvh] w-full bg-transparent p-1 text-body outline-none"
      />
      <div className="mt-2 flex flex-wrap items-center justify-end gap-2 pl-1">
        <p className="flex-1 text-meta text-muted max-sm:basis-full">{t.hint}</p>
        <Button variant="plain" onClick={onCancel}>
          {commonStrings.cancel}
        </Button>
        <Button variant="accent" type="submit" aria-disabled={text.trim() === "" || isSending}>
          {isSending ? t.sending : t.send}
        </Button>
      </div>
      {failure !== null && (
        <p role="alert" className="mt-2 text-meta text-danger">
          {failure}
        </p>
      )}
    </form>
  );
}
