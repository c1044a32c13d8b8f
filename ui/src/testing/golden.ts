/** The fixtures of the stream, which the Python client runs as well. */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { WireEvent } from "@holdfast/client";

interface Fixture {
  about: string;
  steps: { event: WireEvent; expect?: Record<string, unknown> }[];
  view: Record<string, unknown>;
}

const FOLDER = resolve(process.cwd(), "../tests/golden/stream");

/** By name. */
export const FIXTURES = readdirSync(FOLDER).map(
  (name) => [name, JSON.parse(readFileSync(`${FOLDER}/${name}`, "utf8")) as Fixture] as const,
);

export const STREAMS = FIXTURES.map(
  ([name, { steps }]) => [name, steps.map(({ event }) => event)] as const,
);
