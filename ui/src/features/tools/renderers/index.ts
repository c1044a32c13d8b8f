/** Registers the renderers of all known tools. The order is that of the tally of a folded run. */
import { Wrench } from "lucide-react";
import {
  allRenderers,
  findRenderer,
  registerTool,
  rendererFrom,
  type ToolRenderer,
} from "@/features/tools/registry";
import { genericTitle } from "@/features/tools/title";
import { advisor } from "./advisor";
import { askUser } from "./ask-user";
import { clock } from "./clock";
import { createWorkspace } from "./create-workspace";
import { editFile } from "./edit-file";
import { execute } from "./execute";
import { findFiles } from "./find-files";
import { listFiles } from "./list-files";
import { processInput } from "./process-input";
import { processList } from "./process-list";
import { processOutput } from "./process-output";
import { processSignal } from "./process-signal";
import { proposePlan } from "./propose-plan";
import { readFile } from "./read-file";
import { readSkill } from "./read-skill";
import { searchFiles } from "./search-files";
import { startWorkspace } from "./start-workspace";
import { stopWorkspace } from "./stop-workspace";
import { updatePlan } from "./update-plan";
import { webFetch } from "./web-fetch";
import { webSearch } from "./web-search";
import { writeFile } from "./write-file";

registerTool(readFile);
registerTool(readSkill);
registerTool(listFiles);
registerTool(findFiles);
registerTool(searchFiles);
registerTool(webSearch);
registerTool(webFetch);
registerTool(execute);
registerTool(processOutput);
registerTool(processInput);
registerTool(processList);
registerTool(processSignal);
registerTool(writeFile);
registerTool(editFile);
registerTool(createWorkspace);
registerTool(startWorkspace);
registerTool(stopWorkspace);
registerTool(updatePlan);
registerTool(proposePlan);
registerTool(askUser);
registerTool(advisor);
registerTool(clock);

/** Any other tool: of an MCP server, a client or a plugin. */
const generic: ToolRenderer = rendererFrom({
  match: [],
  icon: Wrench,
  title: genericTitle,
  tally: { kind: "other", label: (count, t) => t.tally.other(count) },
});

export function rendererOf(tool: string): ToolRenderer {
  return findRenderer(tool) ?? generic;
}

/** The kinds of the tally, in their order; what has no renderer comes last. */
export function tallies(): ToolRenderer["tally"][] {
  const kinds = new Map<string, ToolRenderer["tally"]>();
  for (const { tally } of allRenderers()) if (!kinds.has(tally.kind)) kinds.set(tally.kind, tally);
  kinds.delete(generic.tally.kind);
  return [...kinds.values(), generic.tally];
}
