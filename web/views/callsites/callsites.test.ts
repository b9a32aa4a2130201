import { describe, expect, it } from "vitest";
import { atRequests } from "@/lib/address";
import { intervalOf, outcomes } from "@/views/callsites/answers";
import { readFilter } from "@/views/callsites/filter";

const read = (at: string) => readFilter(new URL(at, "http://localhost").searchParams);

describe("the filter of the requests", () => {
  it("is what another view's link asked for", () => {
    const at = atRequests("0123456789ab", { site: "site-1", fate: "diverged", text: "a&b", by: "lost" });
    expect(read(at)).toMatchObject({ call_site: "site-1", fate: "diverged", text: "a&b", order: "lost", offset: 0 });
  });

  it("takes all call sites for none", () => {
    expect(read(atRequests("0123456789ab")).call_site).toBeNull();
  });

  it("takes what is no value as not given", () => {
    expect(read("/?requests=all&fate=warm&by=luck&offset=-3")).toMatchObject({ fate: null, order: "time", offset: 0 });
    expect(read("/?requests=all&offset=99999999").offset).toBe(10_000_000);
  });
});

describe("the answers", () => {
  it("name only outcomes that occurred", () => {
    expect(outcomes({ passed: 4, failed: 0, needing_approval: 1 })).toBe("4 passed, 1 to approve");
    expect(outcomes({ passed: 0, failed: 0, needing_approval: 0 })).toBe("none");
  });

  it("say where an interval misses", () => {
    expect(intervalOf({ ttft_ratio_low: 0.4, ttft_ratio_high: 0.5 })).toContain("0.40× to 0.50×");
    expect(intervalOf({ ttft_ratio_low: null, ttft_ratio_high: 0.5 })).toBe(" (no interval)");
  });
});
