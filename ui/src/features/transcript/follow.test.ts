import { describe, expect, it } from "vitest";
import { AT_END, type Follow, follow, NEAR_END_PX, type Sign } from "./follow";

const through = (...signs: Sign[]): Follow => signs.reduce(follow, AT_END);
const back: Sign = { kind: "looks back" };
const at = (top: number, distance: number): Sign => ({ kind: "scrolled", top, distance });

describe("following and reading", () => {
  it("follows at first", () => expect(AT_END.mode).toBe("following"));

  it("reads from the first sign on, however small", () => {
    expect(through(at(1000, 0), back, at(995, 5)).mode).toBe("reading");
  });

  it("keeps reading while the list keeps the reader's line in its place", () => {
    // Rows above grow: the scroll goes down, the end stays as far away as it was.
    expect(through(at(1000, 0), back, at(980, 20), at(1380, 20)).mode).toBe("reading");
  });

  it("keeps reading when the end comes nearer by itself", () => {
    expect(through(at(1000, 0), back, at(900, 100), at(900, 60)).mode).toBe("reading");
  });

  it("follows again when the reader comes back to the end", () => {
    expect(through(at(1000, 0), back, at(500, 500), at(950, NEAR_END_PX)).mode).toBe("following");
    expect(through(at(1000, 0), back, at(500, 500), at(900, NEAR_END_PX + 1)).mode).toBe("reading");
  });

  it("follows again when the end is reached exactly, also by folding what was open", () => {
    expect(through(at(1000, 0), back, at(1000, 300), at(900, 0)).mode).toBe("following");
  });

  it("reads when the bar is dragged up", () => {
    expect(through(at(1000, 0), at(600, 400)).mode).toBe("reading");
  });

  it("follows on when the list itself moves up, since something shrank", () => {
    expect(through(at(1000, 0), at(700, 0)).mode).toBe("following");
  });

  it.each(["jumps to the end", "sends"] as const)("follows again when the reader %s", (kind) => {
    expect(through(back, { kind: "rows came", rows: 3 }, { kind })).toMatchObject({
      mode: "following",
      fresh: 0,
    });
  });

  it("counts what came while somebody read", () => {
    expect(through({ kind: "rows came", rows: 2 }).fresh).toBe(0);
    expect(
      through(back, { kind: "rows came", rows: 2 }, { kind: "rows came", rows: 1 }).fresh,
    ).toBe(3);
  });
});
