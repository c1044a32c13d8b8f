/** What keeps something of a user says here how it is forgotten: the shell does not load it for that. */
const acts = new Set<() => void>();

export function onForget(act: () => void): void {
  acts.add(act);
}

export function forgetUser(): void {
  for (const act of acts) act();
}
