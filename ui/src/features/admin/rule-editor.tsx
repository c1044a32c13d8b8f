/** One approval rule while it is edited. */
import { ArrowDown, ArrowUp, Plus, Trash2, X } from "lucide-react";
import { adminStrings as t } from "@/i18n/en/admin";
import { Button } from "@/ui/button";
import { FormField, TextField } from "@/ui/form-field";
import { Select } from "@/ui/select";
import {
  type ArgumentDraft,
  newArgument,
  type PatternKind,
  type RuleAction,
  type RuleDraft,
} from "./rules-draft";

export const ACTIONS = Object.entries(t.actions) as readonly (readonly [string, string])[];
const KINDS = Object.entries(t.kinds) as readonly (readonly [string, string])[];

interface RuleEditorProps {
  readonly rule: RuleDraft;
  readonly number: number;
  readonly isLast: boolean;
  readonly onChange: (rule: RuleDraft) => void;
  readonly onMove: (by: 1 | -1) => void;
  readonly onRemove: () => void;
}

export function RuleEditor(props: RuleEditorProps) {
  const { rule, number, isLast, onChange, onMove, onRemove } = props;
  const setArgs = (args: readonly ArgumentDraft[]) => onChange({ ...rule, args });
  return (
    <li aria-label={t.rule(number)} className="rounded-card border border-line p-3">
      <div className="mb-2 flex items-center gap-1">
        <span className="mr-auto font-medium text-ui">{t.rule(number)}</span>
        <Button
          variant="plain"
          size="iconSmall"
          aria-label={t.up(number)}
          disabled={number === 1}
          onClick={() => onMove(-1)}
        >
          <ArrowUp />
        </Button>
        <Button
          variant="plain"
          size="iconSmall"
          aria-label={t.down(number)}
          disabled={isLast}
          onClick={() => onMove(1)}
        >
          <ArrowDown />
        </Button>
        <Button
          variant="plain"
          size="iconSmall"
          aria-label={t.removeRule(number)}
          onClick={onRemove}
        >
          <Trash2 />
        </Button>
      </div>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-[1fr_10rem]">
        <TextField
          label={t.tool}
          hint={t.toolHint}
          required
          autoComplete="off"
          spellCheck={false}
          value={rule.tool}
          onChange={(event) => onChange({ ...rule, tool: event.target.value })}
        />
        <FormField label={t.action}>
          {(control) => (
            <Select
              {...control}
              value={rule.action}
              options={ACTIONS}
              onChange={(action) => onChange({ ...rule, action: action as RuleAction })}
            />
          )}
        </FormField>
        {rule.args.map((each) => (
          <ArgumentEditor
            key={each.key}
            argument={each}
            onChange={(next) =>
              setArgs(rule.args.map((other) => (other.key === each.key ? next : other)))
            }
            onRemove={() => setArgs(rule.args.filter((other) => other.key !== each.key))}
          />
        ))}
        {rule.action === "deny" && (
          <TextField
            label={t.reason}
            autoComplete="off"
            maxLength={500}
            value={rule.reason}
            onChange={(event) => onChange({ ...rule, reason: event.target.value })}
            className="sm:col-span-2"
          />
        )}
      </div>
      <Button
        variant="plain"
        size="small"
        className="mt-2"
        aria-label={t.addArgumentTo(number)}
        onClick={() => setArgs([...rule.args, newArgument()])}
      >
        <Plus />
        {t.addArgument}
      </Button>
    </li>
  );
}

interface ArgumentEditorProps {
  readonly argument: ArgumentDraft;
  readonly onChange: (argument: ArgumentDraft) => void;
  readonly onRemove: () => void;
}

function ArgumentEditor({ argument, onChange, onRemove }: ArgumentEditorProps) {
  return (
    <div className="grid grid-cols-1 gap-3 sm:col-span-2 sm:grid-cols-[10rem_12rem_1fr_auto]">
      <TextField
        label={t.argument}
        required
        autoComplete="off"
        spellCheck={false}
        value={argument.name}
        onChange={(event) => onChange({ ...argument, name: event.target.value })}
      />
      <FormField label={t.patternKind}>
        {(control) => (
          <Select
            {...control}
            value={argument.kind}
            options={KINDS}
            onChange={(kind) => onChange({ ...argument, kind: kind as PatternKind })}
          />
        )}
      </FormField>
      <TextField
        label={t.pattern}
        required
        autoComplete="off"
        spellCheck={false}
        value={argument.text}
        onChange={(event) => onChange({ ...argument, text: event.target.value })}
      />
      <Button
        variant="plain"
        size="icon"
        className="self-end"
        aria-label={t.removeArgument}
        onClick={onRemove}
      >
        <X />
      </Button>
    </div>
  );
}
