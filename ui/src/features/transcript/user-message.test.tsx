import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { Folds, FoldsContext } from "@/features/chat/folds";
import { message, text } from "@/testing/fixtures";
import { Editor } from "./editor";
import { UserMessage } from "./user-message";

vi.mock("@/markdown/highlight", () => ({ tokenize: () => Promise.reject(new Error("none")) }));
afterEach(cleanup);

it("long messages of equal length and first line unfold one by one", () => {
  const words = (last: string) => `same first line\n${"line\n".repeat(30)}${last}`;
  render(
    <FoldsContext value={new Folds()}>
      <UserMessage message={message(1, "user", [text(words("a"))])} />
      <UserMessage message={message(5, "user", [text(words("b"))])} />
    </FoldsContext>,
  );
  const folds = () => screen.getAllByRole("button", { expanded: false });
  expect(folds()).toHaveLength(2);
  fireEvent.click(folds()[0] as HTMLElement);
  expect(folds()).toHaveLength(1);
});

it("the editor grows with its text where the browser does it by itself", () => {
  render(<Editor text="a" onChange={() => {}} onCancel={() => {}} onSend={async () => {}} />);
  expect(screen.getByRole("textbox").className).toContain("field-sizing-content");
});
