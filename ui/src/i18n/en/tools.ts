/** English strings of tool calls. */
import { plural } from "@/lib/format";

/** A verb phrase by where a call stands; the object follows it. */
export interface Verbs {
  /** Being written or running. */
  readonly running: string;
  readonly done: string;
  /** Awaits a decision. */
  readonly wants: string;
  /** Did not run, or perhaps not. */
  readonly wanted: string;
}

export const toolStrings = {
  verbs: {
    advisor: {
      running: "Asking the advisor",
      done: "Asked the advisor",
      wants: "Wants to ask the advisor",
      wanted: "Wanted to ask the advisor",
    },
    askUser: {
      running: "Asking",
      done: "Asked",
      wants: "Asks",
      wanted: "Wanted to ask",
    },
    proposePlan: {
      running: "Reading the plan",
      done: "Proposed a plan",
      wants: "Wants to propose a plan",
      wanted: "Wanted to propose a plan",
    },
    clock: {
      running: "Checking the time",
      done: "Checked the time",
      wants: "Wants to check the time",
      wanted: "Wanted to check the time",
    },
    createWorkspace: {
      running: "Creating a workspace",
      done: "Created a workspace",
      wants: "Wants to create a workspace",
      wanted: "Wanted to create a workspace",
    },
    editFile: {
      running: "Editing",
      done: "Edited",
      wants: "Wants to edit",
      wanted: "Wanted to edit",
    },
    execute: { running: "Running", done: "Ran", wants: "Wants to run", wanted: "Wanted to run" },
    findFiles: {
      running: "Finding",
      done: "Found",
      wants: "Wants to find",
      wanted: "Wanted to find",
    },
    listFiles: {
      running: "Listing",
      done: "Listed",
      wants: "Wants to list",
      wanted: "Wanted to list",
    },
    processInput: {
      running: "Typing into",
      done: "Typed into",
      wants: "Wants to type into",
      wanted: "Wanted to type into",
    },
    processList: {
      running: "Listing processes",
      done: "Listed processes",
      wants: "Wants to list processes",
      wanted: "Wanted to list processes",
    },
    processOutput: {
      running: "Looking at",
      done: "Looked at",
      wants: "Wants to look at",
      wanted: "Wanted to look at",
    },
    processSignal: {
      running: "Signalling",
      done: "Signalled",
      wants: "Wants to signal",
      wanted: "Wanted to signal",
    },
    readFile: {
      running: "Reading",
      done: "Read",
      wants: "Wants to read",
      wanted: "Wanted to read",
    },
    readSkill: {
      running: "Reading skill",
      done: "Read skill",
      wants: "Wants to read skill",
      wanted: "Wanted to read skill",
    },
    searchFiles: {
      running: "Searching for",
      done: "Searched for",
      wants: "Wants to search for",
      wanted: "Wanted to search for",
    },
    startWorkspace: {
      running: "Starting the workspace",
      done: "Started the workspace",
      wants: "Wants to start the workspace",
      wanted: "Wanted to start the workspace",
    },
    stopWorkspace: {
      running: "Stopping the workspace",
      done: "Stopped the workspace",
      wants: "Wants to stop the workspace",
      wanted: "Wanted to stop the workspace",
    },
    updatePlan: {
      running: "Updating the plan",
      done: "Updated the plan",
      wants: "Wants to update the plan",
      wanted: "Wanted to update the plan",
    },
    webFetch: {
      running: "Reading the page",
      done: "Read the page",
      wants: "Wants to read the page",
      wanted: "Wanted to read the page",
    },
    webSearch: {
      running: "Searching the web for",
      done: "Searched the web for",
      wants: "Wants to search the web for",
      wanted: "Wanted to search the web for",
    },
    writeFile: {
      running: "Writing",
      done: "Wrote",
      wants: "Wants to write",
      wanted: "Wanted to write",
    },
    other: { running: "Using", done: "Used", wants: "Wants to use", wanted: "Wanted to use" },
  } satisfies Record<string, Verbs>,

  toolWithArgument: (tool: string, argument: string) => `${tool}: ${argument}`,
  pathAndOthers: (path: string, others: number) => `${path} and ${plural(others, "other file")}`,

  questionAndOthers: (question: string, others: number) =>
    `${question} and ${plural(others, "other question")}`,

  advice: {
    label: "Advice",
    asking: "The advisor is thinking…",
    limit: "Advisor limit reached",
    error: "No advice",
    intent: (words: string) => `Intended: ${words}`,
    of: (model: string, remaining: number | null) =>
      remaining === null ? model : `${model} · ${remaining} left in this turn`,
  },

  planProgress: (done: number, total: number, current: string) =>
    current === "" ? `${done} of ${total} done` : `${done} of ${total} done, now: ${current}`,
  plan: {
    label: "Plan",
    status: {
      pending: "pending",
      in_progress: "in progress",
      completed: "completed",
      dropped: "dropped",
    },
  },

  states: {
    writing: "being written",
    awaiting: "needs your input",
    running: "running",
    done: "done",
    failed: "failed",
    denied: "denied",
    cancelled: "cancelled",
    "timed out": "timed out",
    "not run": "not run",
    unknown: "outcome unknown",
  },
  exit: (code: number) => `exit ${code}`,
  inBackground: (process: string) => `running in background (${process})`,

  proposal: {
    label: "Proposed plan",
    copy: "Copy plan",
    implement: "Implement",
    implementing: "Implement the plan.",
  },

  tally: {
    steps: (n: number) => plural(n, "step"),
    reads: (n: number) => plural(n, "file read", "files read"),
    searches: (n: number) => plural(n, "search", "searches"),
    webSearches: (n: number) => plural(n, "web search", "web searches"),
    webPages: (n: number) => plural(n, "web page"),
    plans: (n: number) => plural(n, "plan update"),
    questions: (n: number) => plural(n, "question"),
    advice: (n: number) => plural(n, "question to the advisor", "questions to the advisor"),
    proposals: (n: number) => plural(n, "plan"),
    commands: (n: number) => plural(n, "command"),
    processChecks: (n: number) => plural(n, "process check"),
    edits: (n: number) => plural(n, "edit"),
    workspaceSteps: (n: number) => plural(n, "workspace step"),
    other: (n: number) => `${n} other`,
    failed: (n: number) => `${n} failed`,
    notDone: (n: number) => `${n} not done`,
  },

  body: {
    arguments: "Arguments",
    noArguments: "No arguments",
    command: (folder: string) => (folder === "" ? "Command" : `Command in ${folder}`),
    output: "Output",
    outputSoFar: "Output so far",
    noOutput: "No output",
    noOutputYet: "No output yet",
    result: "Result",
    noResultYet: "No result yet",
    lines: (first: number, last: number, hasMore: boolean) =>
      `Lines ${first} to ${last}${hasMore ? ", more follow" : ""}`,
    noChanges: "No changes",
    changesIn: (path: string) => `Changes in ${path}`,
    deletes: (path: string) => `Deletes ${path}`,
    moves: (path: string, to: string) => `Moves ${path} to ${to}`,
    hiddenLines: (n: number) => `${n} more lines are not shown.`,
    added: "added ",
    removed: "removed ",
    invisible: "Invisible character",
  },

  approval: {
    label: (tool: string) => `Approval of ${tool}`,
    /** The name of the tool stands between the two. */
    ask: ["The agent asks to use ", ". Nothing runs before you decide."],
    viewOnly: "Only people who may write in this chat can decide.",
    sent: "Decision sent…",
    reason: "Reason (optional, shown to the agent)",
    approve: "Approve once",
    denyWithReason: "Deny…",
    deny: "Deny",
    back: "Back",
    expired: "Expired",
    expires: (when: string) => `Expires ${when}`,
    notSent: "The decision did not reach the server.",
  },

  waiting: {
    label: (tool: string) => `Waiting for ${tool}`,
    signIn: "Sign in to this tool first.",
    client: "Waiting for the program that provides this tool.",
  },

  question: {
    label: "A question for you",
    answerField: "Your answer",
    other: "In my own words",
    answer: "Answer",
    next: "Next",
    back: "Back",
    progress: (step: number, steps: number) => `${step} of ${steps}`,
    sent: "Answer sent…",
    notSent: "The answer did not reach the server.",
  },
} as const;

export type ToolStrings = typeof toolStrings;
