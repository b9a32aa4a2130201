// Each view over the real results shows what the API says: figures are compared with its answers, never with constants.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { launch, type Look, Visit } from "@/e2e/browser";
import { Server } from "@/e2e/server";
import { missing, VIEWS } from "@/e2e/views";
import { count, factor, percent, seconds, visible } from "@/lib/format";

let browser: Browser;
let server: Server;
let id: string;

beforeAll(async () => {
  server = await Server.start(inject("results"));
  browser = await launch();
  id = (await server.get("/api/overview")).diagnosis ?? "";
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

/** What the page at an address lacks of `facts`; the visit ends clean. */
async function lacks(path: string, facts: readonly string[], look: Look = {}): Promise<string[]> {
  const visit = await Visit.of(browser, server, look);
  await visit.go(path);
  const shown = await visit.main();
  expect(shown).not.toMatch(/\bNaN\b|undefined|\[object/);
  await visit.close();
  return missing(shown, facts);
}

async function first(kind: "cache-simulation" | "timeline" | "comparison" | "verdict" | "canary" | "task" | "replay") {
  const { items } = await server.get("/api/results", { query: { kind } });
  const [item] = items;
  if (item === undefined) throw new Error(`the results hold no ${kind}`);
  return item;
}

describe("Call sites", () => {
  it("shows every call site with what it loses, now and if fixed, the cause and its owner", async () => {
    const { call_sites } = await server.get("/api/diagnoses/{id}/call-sites", { path: { id } });
    expect(call_sites).toHaveLength(4);
    const facts = call_sites.flatMap((site) => [
      visible(site.name),
      count(site.lost_tokens),
      percent(site.hit_rate),
      percent(site.hit_rate_if_fixed),
      ...site.findings.slice(0, 1).flatMap((finding) => [finding.cause, finding.owner]),
    ]);
    expect(await lacks("/", facts)).toEqual([]);
  });

  it("shows the findings of a site that is opened, with where they stand and what they give back", async () => {
    const { call_sites } = await server.get("/api/diagnoses/{id}/call-sites", { path: { id } });
    const site = call_sites.find((one) => one.findings.length > 1);
    const facts = (site?.findings ?? []).flatMap((finding) => [
      finding.cause,
      finding.path ?? "?",
      count(finding.recoverable_tokens),
      finding.suggestion.slice(0, 60),
    ]);
    expect(facts).not.toEqual([]);
    expect(await lacks(`/?site=${site?.id ?? ""}`, facts)).toEqual([]);
  });

  it("leads from a figure to its requests, a page of them, by what they lost", async () => {
    const query = { order: "lost", limit: 10 } as const;
    const { requests, total } = await server.get("/api/diagnoses/{id}/requests", { path: { id }, query });
    const facts = [count(total), ...requests.map((request) => visible(request.id))];
    expect(await lacks("/?requests=all&by=lost", facts)).toEqual([]);
  });
});

describe("a request", () => {
  it.each(["/", "/map/", "/diff/"])("opened in %s shows its tokens, where it breaks, and what it is compared with", async (path) => {
    const { requests } = await server.get("/api/diagnoses/{id}/requests", { path: { id }, query: { order: "lost", limit: 1 } });
    const index = requests[0]?.index ?? 0;
    const answer = await server.get("/api/diagnoses/{id}/requests/{index}", { path: { id, index } });
    const { request, baseline } = answer;
    const facts = [visible(request.id), visible(baseline?.id ?? "?"), count(request.break_token ?? NaN)];
    if (answer.break_byte !== null) facts.push(count(answer.break_byte));
    facts.push(...answer.findings.slice(0, 1).flatMap((finding) => [finding.path ?? "?", finding.owner, finding.cause]));
    const visit = await Visit.of(browser, server);
    await visit.go(`${path}?diagnosis=${id}&request=${index}`);
    await visit.page.getByRole("dialog").getByText(visible(request.id)).first().waitFor();
    await visit.settled();
    expect(missing(await visit.page.getByRole("dialog").innerText(), facts)).toEqual([]);
    await visit.close();
  });
});

describe("Break map", () => {
  it("names the six fates with their shares of the prompt tokens, which add up", async () => {
    const { diagnosis } = await server.get("/api/diagnoses/{id}", { path: { id } });
    const { prompt, ...fates } = diagnosis.tokens;
    expect(Object.values(fates).reduce((sum, tokens) => sum + tokens, 0)).toBe(prompt);
    const facts = Object.entries(fates).flatMap(([name, tokens]) => [name, percent(tokens / prompt)]);
    expect(await lacks("/map/", facts)).toEqual([]);
  });

  it("is a table, too: every request with its tokens by fate", async () => {
    const { requests } = await server.get("/api/diagnoses/{id}/requests", { path: { id }, query: { limit: 5 } });
    const facts = requests.flatMap((request) => [visible(request.id), count(request.tokens.prompt)]);
    expect(await lacks("/map/?as=table", facts)).toEqual([]);
  });

  it("is painted, and zooming and going on with keys paints something else", async () => {
    const visit = await Visit.of(browser, server);
    await visit.go("/map/");
    const canvas = visit.page.locator("main canvas").first();
    const pictures = new Set<string>();
    const look = async (): Promise<void> => {
      await visit.page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
      pictures.add((await canvas.screenshot()).toString("base64"));
    };
    await look();
    await canvas.focus();
    for (const key of ["+", "+", "ArrowDown", "Shift+ArrowRight", "n"]) {
      await visit.page.keyboard.press(key);
      await look();
    }
    expect(pictures.size).toBeGreaterThanOrEqual(4);
    await visit.page.keyboard.press("Enter");
    await visit.page.getByRole("dialog").waitFor();
    await visit.close();
  });
});

describe("Prompt diff", () => {
  it("shows the slots of the template, what is proposed, and the requests beneath", async () => {
    const { call_sites } = await server.get("/api/diagnoses/{id}/call-sites", { path: { id } });
    for (const site of call_sites) {
      const template = await server.get("/api/diagnoses/{id}/templates/{call_site}", {
        path: { id, call_site: site.id },
      });
      const facts = [
        ...template.proposals.flatMap((proposal) => [count(proposal.recoverable_tokens), proposal.suggestion.slice(0, 60)]),
        ...template.slots.map((slot) => slot.type),
        ...template.requests.slice(0, 3).map((request) => visible(request.id)),
      ];
      expect(facts).not.toEqual([]);
      expect(await lacks(`/diff/?site=${site.id}`, facts)).toEqual([]);
    }
  });
});

describe("Capacity", () => {
  it("shows the ceiling as recorded and if fixed, the policies, and the size of the GPU", async () => {
    const simulation = await server.get("/api/cache-simulations/{id}", { path: { id: (await first("cache-simulation")).id } });
    const facts = [
      percent(simulation.ceiling.hit_rate),
      percent(simulation.if_fixed?.ceiling.hit_rate ?? NaN),
      count(simulation.server?.usable_blocks ?? NaN),
      ...simulation.rows.flatMap((row) => [row.policy, count(row.capacity_blocks), percent(row.hit_rate)]),
    ];
    expect(await lacks("/capacity/", facts)).toEqual([]);
  });
});

describe("Sessions", () => {
  it("shows two runs beside each other, with their times, and every session by its id", async () => {
    const { items } = await server.get("/api/results", { query: { kind: "timeline" } });
    expect(items).toHaveLength(4);
    const [one, other] = items;
    const timeline = await server.get("/api/timelines/{id}", { path: { id: one?.id ?? "" } });
    const facts = [
      timeline.scheduling,
      timeline.eviction,
      seconds(timeline.makespan_s),
      ...timeline.sessions.slice(0, 5).map((session) => visible(session.id)),
    ];
    expect(await lacks(`/sessions/?run=${one?.id ?? ""}&beside=${other?.id ?? ""}`, facts)).toEqual([]);
  });
});

describe("Evidence", () => {
  it("shows what was measured before and after, with intervals, and that it was measured", async () => {
    const { id: at } = await first("comparison");
    const { comparison } = await server.get("/api/comparisons/{id}", { path: { id: at } });
    const { before, after } = comparison.hit_rate;
    const facts = [
      ...[before.value, before.low, before.high, after.value, after.low, after.high].map((rate) => percent(rate ?? NaN)),
      factor(comparison.ttft.ratio.value),
      count(comparison.pairs.compared),
      "measured",
      "simulated",
    ];
    expect(await lacks(`/evidence/?comparison=${at}`, facts)).toEqual([]);
  });

  it("shows every check of each verdict and why it refuses", async () => {
    const { items } = await server.get("/api/results", { query: { kind: "verdict" } });
    expect(items.length).toBeGreaterThanOrEqual(9);
    for (const item of items.filter((_, n) => n % 3 === 0)) {
      const { verdict } = await server.get("/api/verdicts/{id}", { path: { id: item.id } });
      const facts = verdict.answers.flatMap((answer) => [
        answer.check,
        visible(answer.looked_at),
        ...answer.problems.map((problem) => visible(problem.what, 1000)),
      ]);
      expect(await lacks(`/evidence/?verdict=${item.id}`, facts)).toEqual([]);
    }
  });

  it("shows the canary: decision, every check, the rollback", async () => {
    const { id: at } = await first("canary");
    const { record } = await server.get("/api/canaries/{id}", { path: { id: at } });
    const checks = [...record.decision.checks, ...record.drill.checks];
    const facts = [record.final.mode, record.identity.device, ...checks.map((check) => visible(check.message, 500))];
    expect(await lacks(`/evidence/?canary=${at}`, facts)).toEqual([]);
  });

  it("shows a task and a measured run with its requests", async () => {
    const task = await first("task");
    const { task: said } = await server.get("/api/tasks/{id}", { path: { id: task.id } });
    expect(await lacks(`/evidence/?task=${task.id}`, [said.finding.cause, said.finding.suggestion, ...said.allowed_files])).toEqual([]);
    const replay = await first("replay");
    const { rows } = await server.get("/api/replays/{id}/requests", { path: { id: replay.id }, query: { limit: 3 } });
    expect(await lacks(`/evidence/?replay=${replay.id}`, rows.map((row) => visible(row.id)))).toEqual([]);
  });
});

describe("every view", () => {
  it.each(VIEWS)("$name says of each rate where it is from", async ({ path }) => {
    expect(await lacks(path, [])).toEqual([]);
    const visit = await Visit.of(browser, server);
    await visit.go(path);
    expect(await visit.main()).toMatch(/simulated|measured/i);
    await visit.close();
  });
});
