/** A call that waits for a sign-in, or for the client that provides the tool. */
import { toolStrings } from "@/i18n/en/tools";
import { ArgumentList } from "./arguments";
import type { ActionRequiredProps } from "./registry";

const t = toolStrings.waiting;

export function SignInRequired({ call }: ActionRequiredProps) {
  return <Waiting call={call} text={t.signIn} />;
}

export function ClientToolRequired({ call }: ActionRequiredProps) {
  return <Waiting call={call} text={t.client} />;
}

function Waiting({ call, text }: Pick<ActionRequiredProps, "call"> & { text: string }) {
  return (
    <section
      aria-label={t.label(call.tool)}
      className="space-y-2 border-l-2 border-line-strong px-3 py-2"
    >
      <p className="text-ui">{text}</p>
      <ArgumentList given={call.arguments ?? {}} exact={call.exact} />
    </section>
  );
}
