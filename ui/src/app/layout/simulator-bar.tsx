/** For administrators, until there is a real model: that the simulator answers, and where to add one. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { FlaskConical } from "lucide-react";
import { useMe } from "@/api/queries/me";
import { isSimulatorOnly, modelsQuery } from "@/api/queries/models";
import { commonStrings } from "@/i18n/en/common";
import { cn } from "@/lib/classes";

const t = commonStrings.simulator;

interface SimulatorBarProps {
  /** Whether the button that opens the sidebar stands at the beginning of the bar. */
  readonly besideButton: boolean;
}

export function SimulatorBar({ besideButton }: SimulatorBarProps) {
  const isAdmin = useMe().data?.user.role === "admin";
  const models = useQuery({ ...modelsQuery, enabled: isAdmin }).data;
  if (!isAdmin || models === undefined || !isSimulatorOnly(models)) return null;
  return (
    <aside
      aria-label={t.label}
      className={cn(
        "flex min-h-11 items-center gap-2 border-line border-b bg-subtle px-3 text-ui",
        besideButton && "pl-12",
      )}
    >
      <FlaskConical aria-hidden="true" className="size-4 shrink-0 text-warn" />
      <p className="min-w-0">
        {t.says}{" "}
        <Link
          to="/admin/$section"
          params={{ section: "models" }}
          className="text-accent underline underline-offset-2"
        >
          {t.add}
        </Link>
      </p>
    </aside>
  );
}
