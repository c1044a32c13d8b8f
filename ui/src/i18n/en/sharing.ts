/** Strings of the sharing dialog. */
export const sharingStrings = {
  title: "Share this chat",
  hint: "People you add can view this chat live. Only you can send messages.",
  seen: "They see the chat as it is now, and can copy it. Text that you edited away stays with you.",
  find: "Find people by name or e-mail",
  add: "Add",
  addUser: (name: string) => `Add ${name}`,
  added: (name: string) => `${name} can view this chat now.`,
  remove: (name: string) => `Remove ${name}`,
  removed: (name: string) => `${name} can no longer view this chat.`,
  with: "People with access",
  onlyYou: "Only you",
  noMatch: "No people found.",
  noOthers: "This organisation has no other members yet.",
  link: "Copy link",
  linkHint: "Works only for people listed above.",
} as const;
