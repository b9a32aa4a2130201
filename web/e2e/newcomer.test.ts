// Somebody who has only the opened page: what the first two views say is enough to answer the questions that matter.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Schema } from "@/lib/api/client";
import { launch, Visit } from "@/e2e/browser";
import { Server } from "@/e2e/server";
import { missing, plain } from "@/e2e/views";
import { count, factor, percent, visible } from "@/lib/format";

let browser: Browser;
let server: Server;
let overview: Schema<"Overview">;
let shown: string; // all that the first two views say, and nothing that only a pointer brings up

beforeAll(async () => {
  server = await Server.start(inject("results"));
  browser = await launch();
  overview = await server.get("/api/overview");
  const visit = await Visit.of(browser, server);
  await visit.go("/");
  const first = await visit.main();
  await visit.go("/map/");
  shown = `${first}\n${await visit.main()}`;
  await visit.close();
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

function worst(): Schema<"WorstLoss"> {
  if (overview.worst === null) throw new Error("the overview knows of no loss");
  return overview.worst;
}

describe("the first two views say", () => {
  it("which call site loses most", () => {
    expect(missing(shown, [visible(worst().call_site_name).slice(0, 30), count(worst().lost_tokens)])).toEqual([]);
  });

  it("at which token", () => {
    expect(plain(shown)).toMatch(new RegExp(`token ${count(worst().token_offset ?? NaN)}\\b`));
  });

  it("why: the cause, who owns it, where it stands, what to do", () => {
    const { cause, owner, path, suggestion } = worst();
    expect(missing(shown, [cause ?? "?", owner ?? "?", path ?? "?", (suggestion ?? "?").slice(0, 40)])).toEqual([]);
  });

  it("what a fix would give, and that this is simulated", () => {
    const { hit_rate, hit_rate_if_fixed, recoverable_tokens } = worst();
    const facts = [percent(hit_rate), percent(hit_rate_if_fixed), count(recoverable_tokens ?? NaN), "simulated"];
    expect(missing(shown, facts)).toEqual([]);
  });

  it("whether it was measured, and what that gave", () => {
    const { measured } = overview;
    expect(measured).not.toBeNull();
    const facts = [percent(measured?.hit_rate_before ?? NaN), percent(measured?.hit_rate_after ?? NaN)];
    expect(missing(shown, [...facts, factor(measured?.ttft_ratio ?? NaN), "measured"])).toEqual([]);
  });

  it("whether behaviour changed, and what waits for a person", () => {
    const { behaviour } = overview;
    expect(behaviour?.needing_approval).toBe(1);
    expect(plain(shown)).toMatch(/behaviou?r/);
    expect(plain(shown)).toMatch(/approv/);
    expect(missing(shown, [count(behaviour?.passed ?? NaN), count(behaviour?.failed ?? NaN)])).toEqual([]);
  });
});
