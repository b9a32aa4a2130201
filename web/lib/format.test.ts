import { describe, expect, it } from "vitest";
import { counted, moment, percent, seconds, visible } from "@/lib/format";

describe("seconds", () => {
  it("choose their unit by what will be written", () => {
    expect([0, 0.004, 0.00999, 0.01, 0.25, 0.9994].map(seconds)).toEqual(["0 s", "4.00 ms", "9.99 ms", "10 ms", "250 ms", "999 ms"]);
    expect([0.9996, -0.9996, 9.994, 9.996, 119.94, 119.96].map(seconds)).toEqual([
      "1.00 s",
      "-1.00 s",
      "9.99 s",
      "10.0 s",
      "119.9 s",
      "2.0 min",
    ]);
    expect([7196, 7198, 36_000].map(seconds)).toEqual(["119.9 min", "2.0 h", "10.0 h"]);
  });
});

describe("other figures", () => {
  it("have their unit, in the singular for one", () => {
    expect([counted(1, "call site"), counted(1234, "call site"), percent(0.5)]).toEqual(["1 call site", "1,234 call sites", "50.0%"]);
  });
  it("a time is a date where it is one", () => {
    expect([moment(1_778_570_152.32), moment(90)]).toEqual(["2026-05-12 07:15:52 UTC", "90.0 s"]);
  });
});

describe("recorded text", () => {
  it("has nothing unseen, keeps its lines, and is cut", () => {
    expect(visible("a\u202eb\u0000\tc\nd")).toBe("a\\u202eb\\u0000\\u0009c\nd");
    expect(visible("abcdef", 3)).toBe("abc…");
  });
});
