import { expect, it } from "vitest";
import { allRequests, describe as inWords, gapName, requestFigures } from "./describe";
import type { SessionTimeline } from "./segments";

const SESSION: SessionTimeline = {
  id: "s",
  measured: true,
  arrival_s: [0, 20],
  admitted_s: [2, 20],
  first_token_s: [6, 24],
  end_s: [10, 30],
  prompt_tokens: [1000, 1600],
  hit_tokens: [0, 800],
  recomputed_tokens: [0, 400],
  reloaded_tokens: [0, 16],
  output_tokens: [1, 5],
  preemptions: [0, 1],
  gap: ["bash", "end"],
};

it("says a request in words, what did not happen left out", () => {
  expect(inWords(SESSION, 0)).toBe(
    "waited 2.00 s; prefill 4.00 s for 1,000 tokens: 0 hit; decode 4.00 s for 1 token; then tool bash 10.0 s",
  );
  expect(inWords(SESSION, 1)).toBe(
    "waited 0 s; prefill 4.00 s for 1,600 tokens: 800 hit, 400 evicted and computed again, " +
      "16 read back from host memory; decode 6.00 s for 5 tokens; preempted 1 time; end of the session",
  );
  expect(inWords(SESSION, 7)).toBe("no such request in this run");
});

it("counts a request's times from its arrival", () => {
  expect(requestFigures(SESSION, 0)).toMatchObject({ waited_s: 2, latency_s: 10, gap_s: 10 });
  expect(requestFigures(SESSION, 1)?.gap_s).toBeNull();
  expect(allRequests(SESSION).map((row) => row.request)).toEqual([0, 1]);
});

it("names what comes between requests", () => {
  expect(["end", "human", "unknown", "pytest"].map(gapName)).toEqual([
    "end of the session",
    "human",
    "idle",
    "tool pytest",
  ]);
});
