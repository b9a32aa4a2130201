// A proposed change of a prompt's order, simulated on demand by the real server: progress, result, cancel.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { launch, Visit } from "@/e2e/browser";
import { PYTHON, REPOSITORY } from "@/e2e/places";
import { Server } from "@/e2e/server";
import { percent } from "@/lib/format";

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

describe("a proposal", () => {
  let server: Server;
  beforeAll(async () => {
    server = await Server.start(inject("results"));
  });
  afterAll(() => server.stop());

  it("is accepted, simulated with progress, and shown as simulated", async () => {
    const worst = (await server.get("/api/overview")).worst;
    const visit = await Visit.of(browser, server);
    const { page } = visit;
    await visit.go(`/diff/?site=${worst?.call_site ?? ""}`);
    await page.getByRole("button", { name: /^Accept/ }).first().click();
    await page.getByRole("button", { name: "Simulate", exact: true }).click();
    await page.getByRole("progressbar", { name: /simulation/i }).waitFor();
    await page.getByRole("status").filter({ hasText: /^Done: / }).waitFor();
    const shown = await visit.main();
    expect(shown).toContain(percent(worst?.hit_rate ?? NaN));
    expect(shown).toMatch(/simulated/i);
    const rates = /as laid out[^%]*?([\d.]+)% → ([\d.]+)%/i.exec(shown.replace(/\s+/g, " "));
    expect(Number(rates?.[2])).toBeGreaterThan(Number(rates?.[1]));
    expect(await visit.axe()).toEqual([]);
    await visit.close();
  });

  it("is in the address: whoever opens it sees the same layout under consideration", async () => {
    const visit = await Visit.of(browser, server);
    await visit.go("/diff/");
    await visit.page.getByRole("button", { name: /^Accept/ }).first().click();
    await visit.page.waitForURL(/fixes=|moves=/);
    const considered = /under consideration([\s\S]*?)simulate/i;
    const here = considered.exec(await visit.main())?.[1];
    const other = await Visit.of(browser, server);
    await other.go(visit.page.url().replace(server.origin, ""));
    expect(considered.exec(await other.main())?.[1]).toBe(here);
    await other.close();
    await visit.close();
  });

  it("can be made with the keyboard alone", async () => {
    const visit = await Visit.of(browser, server);
    const { page } = visit;
    await visit.go("/diff/");
    await page.getByRole("button", { name: /^Accept/ }).first().focus();
    await page.keyboard.press("Enter");
    const simulate = page.getByRole("button", { name: "Simulate", exact: true });
    for (let n = 0; n < 200 && !(await simulate.evaluate((one) => one === document.activeElement)); n += 1) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({ hasText: /^Done: / }).waitFor();
    await visit.close();
  });
});

describe("a longer one", () => {
  let folder: string;
  let server: Server;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "keepwarm-reorder-"));
    const day = gunzipSync(readFileSync(join(REPOSITORY, "examples/helpdesk/traffic.jsonl.gz"))).toString("utf-8");
    const trace = join(folder, "days.jsonl");
    writeFileSync(trace, Array.from({ length: 8 }, (_, n) => day.replaceAll('{"id":"hd-', `{"id":"day-${n}-`)).join(""));
    mkdirSync(join(folder, "results"));
    execFileSync(PYTHON, ["-m", "keepwarm", "diagnose", trace, "--out", join(folder, "results")], {
      cwd: REPOSITORY,
      stdio: "ignore",
    });
    server = await Server.start(join(folder, "results"));
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("is cancelled: the page says so, the server ends its work, and another can be started", async () => {
    const visit = await Visit.of(browser, server);
    const { page } = visit;
    await visit.go("/diff/");
    await page.getByRole("button", { name: /^Accept/ }).first().click();
    const asked = page.waitForResponse((response) => response.request().method() === "POST");
    await page.getByRole("button", { name: "Simulate", exact: true }).click();
    const { id } = (await (await asked).json()) as { id: string };
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("status").filter({ hasText: "Cancelled." }).waitFor();
    expect((await server.get("/api/jobs/{job}", { path: { job: id } })).state).toBe("cancelled");
    await expect.poll(() => server.simulating(), { timeout: 30_000 }).toEqual([]);
    expect(await page.getByRole("button", { name: "Simulate", exact: true }).isEnabled()).toBe(true);
    await visit.close();
  });

  it("does not keep the server from ending", async () => {
    const own = await Server.start(join(folder, "results"));
    const visit = await Visit.of(browser, own);
    visit.expect(/./);
    await visit.go("/diff/");
    await visit.page.getByRole("button", { name: /^Accept/ }).first().click();
    await visit.page.getByRole("button", { name: "Simulate", exact: true }).click();
    await visit.page.getByRole("progressbar", { name: /simulation/i }).waitFor();
    await expect.poll(() => own.simulating(), { timeout: 30_000 }).toHaveLength(1);
    const [worker] = own.simulating();
    await own.stop();
    await expect.poll(() => existsSync(`/proc/${worker ?? 0}`), { timeout: 30_000 }).toBe(false);
    await visit.close();
  });
});
