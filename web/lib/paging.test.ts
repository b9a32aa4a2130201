import { describe, expect, it } from "vitest";
import { pageOf } from "@/lib/paging";

describe("a page", () => {
  it("of all there is has none beside it", () => {
    expect(pageOf("request", 50, 0, 50)).toEqual({ said: "50 requests", previous: null, next: null });
    expect(pageOf("request", 0, 0, 50)).toEqual({ said: "No request", previous: null, next: null });
  });
  it("leads to those beside it", () => {
    expect(pageOf("request", 1234, 50, 50)).toEqual({ said: "51–100 of 1,234 requests", previous: 0, next: 100 });
    expect(pageOf("pair", 51, 50, 50)).toEqual({ said: "51–51 of 51 pairs", previous: 0, next: null });
    expect(pageOf("pair", 60, 20, 50).previous).toBe(0);
  });
  it("behind the last row says so and leads back to rows", () => {
    expect(pageOf("request", 60, 1000, 50)).toEqual({
      said: "None from 1,001 on: 60 requests in all",
      previous: 50,
      next: null,
    });
    expect(pageOf("request", 50, 50, 50).previous).toBe(0);
    expect(pageOf("request", 0, 50, 50).previous).toBe(0);
  });
});
