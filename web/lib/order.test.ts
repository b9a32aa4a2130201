import { describe, expect, it } from "vitest";
import { nextOrder, readOrder, sorted, writeOrder } from "@/lib/order";

describe("orders", () => {
  it("survive the address", () => {
    for (const order of [
      { column: "lost", descending: true },
      { column: "name", descending: false },
    ]) {
      expect(readOrder(writeOrder(order))).toEqual(order);
    }
    expect(readOrder(null)).toBeNull();
    expect(readOrder("-")).toBeNull();
  });

  it("start with the largest for figures and turn at a second click", () => {
    const first = nextOrder(null, "lost", true);
    expect(first).toEqual({ column: "lost", descending: true });
    expect(nextOrder(first, "lost", true)).toEqual({ column: "lost", descending: false });
    expect(nextOrder(first, "name", false)).toEqual({ column: "name", descending: false });
  });

  it("keep equal rows in place and put rows without a value last", () => {
    const rows = [
      { name: "a", value: 2 },
      { name: "b", value: null },
      { name: "c", value: 10 },
      { name: "d", value: 2 },
    ];
    const names = (descending: boolean) =>
      sorted(rows, (row) => row.value, descending).map((row) => row.name);
    expect(names(false)).toEqual(["a", "d", "c", "b"]);
    expect(names(true)).toEqual(["c", "a", "d", "b"]);
  });

  it("read numbers within texts as numbers", () => {
    const rows = ["site-10", "site-2", "site-1"];
    expect(sorted(rows, (row) => row, false)).toEqual(["site-1", "site-2", "site-10"]);
  });
});
