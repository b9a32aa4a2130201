// What a view shows when there is nothing to show, when what is there is broken, and when nobody answers.

import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { launch, Visit } from "@/e2e/browser";
import { Server } from "@/e2e/server";
import { VIEWS } from "@/e2e/views";

const REFUSED = /Failed to load resource|^status (4|5)\d\d:|request failed/;
let browser: Browser;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "keepwarm-states-"));
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("an empty folder", () => {
  let server: Server;
  beforeAll(async () => {
    const empty = mkdtempSync(join(folder, "empty-"));
    server = await Server.start(empty);
  });
  afterAll(() => server.stop());

  it.each(VIEWS)("$name says which command makes what it shows", async ({ path }) => {
    const visit = await Visit.of(browser, server);
    await visit.go(path);
    expect(await visit.main()).toMatch(/keepwarm (diagnose|simulate|verify|compare|replay|canary) /);
    expect(await visit.axe()).toEqual([]);
    expect(await visit.overflow()).toBe(0);
    await visit.close();
  });
});

describe("results that were cut short", () => {
  let server: Server;
  beforeAll(async () => {
    const broken = join(folder, "broken");
    cpSync(inject("results"), broken, { recursive: true });
    for (const file of files(broken)) truncateSync(file, Math.floor(statSync(file).size / 2));
    server = await Server.start(broken);
  });
  afterAll(() => server.stop());

  it.each(VIEWS)("$name says so and goes on", async ({ path }) => {
    const visit = await Visit.of(browser, server);
    visit.expect(REFUSED);
    await visit.go(path);
    const shown = await visit.main();
    expect(shown).not.toMatch(/NaN|undefined|\[object/);
    expect(shown).toMatch(/could not be shown|cannot be|keepwarm (diagnose|simulate|verify|compare|replay|canary) /);
    expect(await visit.axe()).toEqual([]);
    await visit.close();
  });
});

describe("an address of what is not there", () => {
  let server: Server;
  beforeAll(async () => {
    server = await Server.start(inject("results"));
  });
  afterAll(() => server.stop());

  it.each(VIEWS)("$name says so", async ({ path }) => {
    const visit = await Visit.of(browser, server);
    visit.expect(REFUSED);
    const lost = "000000000000";
    await visit.go(`${path}?diagnosis=${lost}&site=nowhere&request=99999999&simulation=${lost}&run=${lost}&verdict=${lost}`);
    expect(await visit.main()).not.toMatch(/NaN|undefined|\[object/);
    expect(await visit.overflow()).toBe(0);
    await visit.close();
  });

  it("a page that is not there leads back", async () => {
    const visit = await Visit.of(browser, server);
    visit.expect(REFUSED);
    await visit.page.goto(`${server.origin}/no-such-view/`);
    expect(await visit.text()).toMatch(/keepwarm|not found|no such/i);
    await visit.close();
  });
});

describe("a server that has gone", () => {
  it("is what the view says when it asks for more", async () => {
    const server = await Server.start(inject("results"));
    const visit = await Visit.of(browser, server);
    visit.expect(REFUSED);
    await visit.go("/");
    const picker = visit.page.getByRole("combobox", { name: /diagnosis/i });
    const others = await picker.evaluate((one) => [...(one as HTMLSelectElement).options].map((option) => option.value));
    await server.stop();
    await picker.selectOption(others.at(-1) ?? "");
    const said = visit.page.getByRole("alert").filter({ hasText: "does not answer" });
    await said.first().waitFor();
    await visit.close();
  });

  const other = async (page: Page, select: RegExp) => {
    const picker = page.getByRole("combobox", { name: select });
    const values = await picker.evaluate((one) => [...(one as HTMLSelectElement).options].map((option) => option.value));
    const now = await picker.inputValue();
    await picker.selectOption(values.findLast((value) => value !== now && value !== "none") ?? "");
  };
  const asks: readonly { path: string; ask: (page: Page) => Promise<void> }[] = [
    {
      path: "/map/",
      ask: async (page) => {
        await page.getByRole("application").press("ArrowDown");
        await page.getByRole("application").press("Enter");
      },
    },
    { path: "/diff/", ask: (page) => other(page, /^Call site/) },
    { path: "/sessions/", ask: (page) => other(page, /^Beside/) },
    { path: "/evidence/", ask: (page) => page.getByRole("link", { name: /^after: / }).first().click() },
  ];
  it.each(asks)("is what $path says when it asks for more", async ({ path, ask }) => {
    const server = await Server.start(inject("results"));
    const visit = await Visit.of(browser, server);
    visit.expect(REFUSED);
    await visit.go(path);
    await server.stop();
    await ask(visit.page);
    await visit.page.getByRole("alert").filter({ hasText: "does not answer" }).first().waitFor();
    await visit.close();
  });
});

/** The documents and tables of a folder of results. */
function files(within: string): string[] {
  return readdirSync(within, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(json|parquet|npz|bin)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes("/desk/") && !path.includes("/golden/"));
}
