import { act, cleanup, render } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { Folds, FoldsContext, useFold } from "./folds";

afterEach(cleanup);

function Row({ name, drawn }: { name: string; drawn: string[] }) {
  drawn.push(`${name} ${useFold(name).isOpen}`);
  return null;
}

it("a toggle draws the row that it is about, and no other", () => {
  const drawn: string[] = [];
  const folds = new Folds(["b"]);
  render(
    <FoldsContext value={folds}>
      <Row name="a" drawn={drawn} />
      <Row name="b" drawn={drawn} />
    </FoldsContext>,
  );
  expect(drawn).toEqual(["a false", "b true"]);
  act(() => folds.toggle("a"));
  act(() => folds.toggle("b"));
  expect(drawn.slice(2)).toEqual(["a true", "b false"]);
});
