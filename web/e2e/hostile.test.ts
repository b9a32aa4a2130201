// Recorded text that tries to be more than text: markup, scripts, addresses, characters that turn or hide.

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { launch, Visit } from "@/e2e/browser";
import { everything } from "@/e2e/everything";
import { makeHostile, MARK, writeHostileTrace } from "@/e2e/hostile";
import { PYTHON, REPOSITORY } from "@/e2e/places";
import { Server } from "@/e2e/server";
import { VIEWS } from "@/e2e/views";

// What would turn, hide or ring, had it been handed on as it is.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/;
let browser: Browser;
let folder: string;
let server: Server;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "keepwarm-hostile-"));
  const trace = join(folder, "hostile.jsonl");
  writeHostileTrace(trace);
  const out = join(folder, "results");
  // Evidence and simulations of the example, rewritten; then the diagnosis, which the newest has to be.
  cpSync(inject("results"), out, { recursive: true });
  rmSync(join(out, "diagnosis.json"));
  for (const part of ["loop/round-1/repair", "loop/replays", "canary", "serving/timelines", "repair/verdict"]) {
    for (const file of documents(join(out, part))) makeHostile(file);
  }
  keepwarm("diagnose", trace, "--out", join(out, "hostile"), "--reveal");
  server = await Server.start(out, "--reveal");
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Nothing ran, nothing became an element, nothing turned the text around. */
async function harmless(visit: Visit): Promise<void> {
  const found = await visit.page.evaluate(() => ({
    ran: (window as unknown as { __pwned?: number }).__pwned,
    made: [...document.querySelectorAll('img[src="x"], [onerror], [onload], [href^="javascript:" i], body b')].map(
      (element) => element.outerHTML.slice(0, 100),
    ),
    text: document.body.innerText,
  }));
  expect(found.ran).toBeUndefined();
  expect(found.made).toEqual([]);
  expect(UNSEEN.exec(found.text)).toBeNull();
  expect(await visit.overflow()).toBe(0);
  visit.clean();
}

describe("the recording", () => {
  it("is diagnosed, with something to show at each call site", async () => {
    const [diagnosis] = (await server.get("/api/results", { query: { kind: "diagnosis" } })).items;
    const sites = await server.get("/api/diagnoses/{id}/call-sites", { path: { id: diagnosis?.id ?? "" } });
    expect(sites.call_sites.length).toBeGreaterThanOrEqual(4);
    expect(sites.call_sites.some((site) => site.findings.length > 0)).toBe(true);
  });

  it("is answered in JSON that a browser reads, whatever characters it holds", async () => {
    for (const [path, text] of await everything(server)) {
      expect(() => JSON.parse(text) as unknown, path).not.toThrow();
    }
  });
});

describe.each(VIEWS)("$name", ({ path }) => {
  it.each(["light", "dark"] as const)("shows it as text (%s)", async (scheme) => {
    const visit = await Visit.of(browser, server, { scheme });
    await visit.go(path);
    await harmless(visit);
    await visit.page.keyboard.press("Tab");
    await visit.close();
  });
});

describe("evidence", () => {
  it.each(["verdict", "comparison", "canary", "replay"] as const)("shows each %s as text", async (kind) => {
    const { items } = await server.get("/api/results", { query: { kind } });
    expect(items).not.toEqual([]);
    const visit = await Visit.of(browser, server);
    for (const item of items.filter((one) => /repair|replays|canary/.test(one.path)).slice(0, 4)) {
      await visit.go(`/evidence/?${kind}=${item.id}`);
      await harmless(visit);
    }
    await visit.close();
  });
});

describe("each request", () => {
  it("opens with its texts shown, and the page goes on answering", async () => {
    const [diagnosis] = (await server.get("/api/results", { query: { kind: "diagnosis" } })).items;
    const id = diagnosis?.id ?? "";
    const { requests } = await server.get("/api/diagnoses/{id}/requests", { path: { id }, query: { limit: 100 } });
    const visit = await Visit.of(browser, server);
    for (const request of requests.filter((_, n) => n % 4 === 1 || n === 5)) {
      for (const path of ["/", "/map/", "/diff/"]) {
        const site = encodeURIComponent(request.call_site);
        await visit.go(`${path}?diagnosis=${id}&request=${request.index}&site=${site}`);
        await harmless(visit);
      }
    }
    expect(plainly(await visit.text())).toContain(MARK);
    await visit.close();
  });

  it("is masked without --reveal, ids and names aside", async () => {
    const masked = await Server.start(join(folder, "results"));
    const answers = await everything(masked);
    const values = [...answers].filter(([path]) => /requests\/\d+$|templates/.test(path)).map(([, text]) => text).join("");
    expect(values).not.toContain("<b>2 MB</b>");
    await masked.stop();
  });
});

function documents(within: string): string[] {
  return readdirSync(within, { recursive: true, encoding: "utf-8" })
    .filter((name) => name.endsWith(".json") && !name.endsWith("manifest.json"))
    .map((name) => join(within, name));
}

function plainly(text: string): string {
  return text.replace(/\s+/g, " ");
}

function keepwarm(...args: string[]): void {
  execFileSync(PYTHON, ["-m", "keepwarm", ...args], { cwd: REPOSITORY, stdio: "ignore" });
}
