import { describe, expect, it } from "vitest";
import { someColumns } from "@/views/map/fixtures";
import { placeLines, shortTime, togetherLines } from "@/views/map/words";

const NAMES = new Map([["one", "app.py:plan\u202e"]]);

describe("a place in words", () => {
  const columns = someColumns(1, 10, 1);
  columns.promptTokens = Int32Array.of(40);
  columns.callSite = Int32Array.of(0);
  columns.cause = Int32Array.of(0);
  columns.breakToken = Int32Array.of(17);
  columns.timeS = Float64Array.of(NaN);
  columns.fates = { start: Int32Array.of(0, 2), kind: Uint8Array.of(0, 4), end: Int32Array.of(17, 40) };
  columns.sections = { start: Int32Array.of(0, 1), kind: Uint8Array.of(1), end: Int32Array.of(40) };

  it("names the request, the token with its block, fate and section, and the break", () => {
    const said = placeLines(columns, 0, 33, NAMES);
    expect(said[0]).toBe("r0");
    expect(said).toContain("token 33, block 2: diverged, in system");
    expect(said.at(-1)).toBe("break at token 17, cause clock");
    expect(said[1]).toBe("no time");
  });

  it("shows what is invisible in a recorded name", () => {
    expect(placeLines(columns, 0, 0, NAMES)[3]).toBe("call site app.py:plan\\u202e");
  });

  it("says where there is no token", () => {
    expect(placeLines(columns, 0, 40, NAMES)).toContain("behind the end: the prompt has 40 tokens");
  });

  it("counts fates where one line stands for several requests", () => {
    const several = someColumns(3, 10, 1);
    several.fates = { start: Int32Array.of(0, 2, 3, 4), kind: Uint8Array.of(0, 4, 0, 0), end: Int32Array.of(4, 9, 9, 2) };
    expect(togetherLines(several, 0, 3, 5, null)[1]).toBe("token 5: hit in 1, diverged in 1");
    expect(togetherLines(several, 0, 3, 9, "g")[1]).toBe("token 9: behind the end of all");
  });

  it("gives times of a clock without their day, others in seconds, none as the request's number", () => {
    expect(shortTime(1_760_000_000, 3)).toBe("08:53:20");
    expect(shortTime(12, 3)).toBe("12.0 s");
    expect(shortTime(NaN, 3)).toBe("#3");
  });
});
