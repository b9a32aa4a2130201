// What is seen is in the address: whoever opens it sees the same, and the browser's own buttons work.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { AnswerOf } from "@/lib/api/client";
import { launch, Visit } from "@/e2e/browser";
import { Server } from "@/e2e/server";
import { VIEWS } from "@/e2e/views";
import { visible } from "@/lib/format";

let browser: Browser;
let server: Server;
let id: string;
// Of the call site that loses most, those that lose most.
let requests: AnswerOf<"/api/diagnoses/{id}/requests">["requests"];

beforeAll(async () => {
  server = await Server.start(inject("results"));
  browser = await launch();
  const { diagnosis, worst } = await server.get("/api/overview");
  id = diagnosis ?? "";
  const query = { call_site: worst?.call_site ?? "", order: "lost", limit: 5 } as const;
  ({ requests } = await server.get("/api/diagnoses/{id}/requests", { path: { id }, query }));
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

/** What a colleague sees at the address that a visit is at. */
async function colleague(visit: Visit): Promise<string> {
  const other = await Visit.of(browser, server);
  await other.go(visit.page.url().replace(server.origin, ""));
  const seen = await other.main();
  await other.close();
  return seen;
}

describe.each(VIEWS)("$name", ({ path }) => {
  it("is the same for a colleague, and holds no token", async () => {
    const visit = await Visit.of(browser, server);
    await visit.go(path);
    expect(visit.page.url()).not.toContain("token");
    expect(await colleague(visit)).toBe(await visit.main());
    await visit.close();
  });
});

describe.each(["/", "/map/", "/diff/"])("a request opened at %s", (path) => {
  it("is there for a colleague, with its id, its break and its baseline", async () => {
    const [request] = requests;
    const visit = await Visit.of(browser, server);
    await visit.go(`${path}?diagnosis=${id}&request=${request?.index ?? 0}`);
    const detail = visit.page.getByRole("dialog");
    await detail.waitFor();
    await visit.settled();
    const shown = await detail.innerText();
    expect(shown).toContain(visible(request?.id ?? "?"));
    expect(await visit.axe()).toEqual([]);
    await visit.page.keyboard.press("Escape");
    await detail.waitFor({ state: "detached" });
    expect(visit.page.url()).not.toContain("request=");
    await visit.page.goBack();
    await detail.waitFor();
    await visit.close();
  });
});

describe("the browser's own buttons", () => {
  it("go back over what was opened in the leaderboard", async () => {
    const visit = await Visit.of(browser, server);
    await visit.go("/");
    const { page } = visit;
    const opener = page.locator("main table tbody").getByRole("button").first();
    await opener.click();
    await page.waitForURL(/site=/);
    expect(await opener.getAttribute("aria-expanded")).toBe("true");
    expect(await colleague(visit)).toBe(await visit.main());
    await page.goBack();
    await expect.poll(() => opener.getAttribute("aria-expanded")).toBe("false");
    await page.goForward();
    await expect.poll(() => opener.getAttribute("aria-expanded")).toBe("true");
    await visit.close();
  });

  it("go back from a figure's rows to the figure", async () => {
    const visit = await Visit.of(browser, server);
    await visit.go("/");
    const { page } = visit;
    await page.locator('main a[href*="requests="]').first().click();
    await page.waitForURL(/requests=/);
    await visit.settled();
    const rows = await visit.main();
    expect(rows).toContain(visible(requests[0]?.id ?? "?"));
    expect(await colleague(visit)).toBe(rows);
    await page.goBack();
    await page.waitForURL((at) => !at.search.includes("requests="));
    await visit.close();
  });

  it("go back over evidence that was looked at", async () => {
    const visit = await Visit.of(browser, server);
    await visit.go("/evidence/");
    const { page } = visit;
    const list = page.getByRole("navigation", { name: /evidence/i }).getByRole("link");
    const first = await visit.main();
    for (let n = 0; n < (await list.count()); n += 4) {
      await list.nth(n).click();
      await visit.settled();
      expect(await colleague(visit)).toBe(await visit.main());
      await page.goBack();
      await visit.settled();
      await expect.poll(() => visit.main()).toBe(first);
    }
    await visit.close();
  });
});

describe("every figure", () => {
  it.each(VIEWS)("$name: all links within the dashboard lead somewhere", async ({ path }) => {
    const visit = await Visit.of(browser, server);
    await visit.go(path);
    const ways = await visit.page.evaluate(() =>
      [...new Set([...document.querySelectorAll<HTMLAnchorElement>("main a[href]")].map((link) => link.href))]
        // One of a kind is enough: rows of a table differ in a number only.
        .filter((way, n, all) => all.findIndex((other) => other.replace(/\d+/g, "") === way.replace(/\d+/g, "")) === n)
        .slice(0, 25),
    );
    for (const way of ways) {
      expect(way.startsWith(server.origin)).toBe(true);
      await visit.go(way.replace(server.origin, ""));
      expect(await visit.page.locator("main [role=alert]").count(), way).toBe(0);
    }
    await visit.close();
  });
});
