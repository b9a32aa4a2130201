// Each view in light and dark, at 1280 px and on a laptop at 200%: axe finds nothing, nothing scrolls sideways,
// and everything can be reached with the keyboard.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { launch, type Scheme, Visit } from "@/e2e/browser";
import { Server } from "@/e2e/server";
import { controls, tabStops, VIEWS } from "@/e2e/views";

let browser: Browser;
let server: Server;

beforeAll(async () => {
  server = await Server.start(inject("results"));
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

const LOOKS = (["light", "dark"] as Scheme[]).flatMap((scheme) => [1280, 640].map((width) => ({ scheme, width })));

describe.each(LOOKS)("$scheme, $width px", (look) => {
  it.each(VIEWS)("$name", async ({ path }) => {
    const visit = await Visit.of(browser, server, look);
    await visit.go(path);
    expect(await visit.axe()).toEqual([]);
    expect(await visit.overflow()).toBe(0);
    await visit.close();
  });
});

/** What a view opens: panels, findings, rows behind a figure, every kind of evidence, the word for an approval. */
async function opened(): Promise<Record<string, string>> {
  const { diagnosis, worst } = await server.get("/api/overview");
  const ways: Record<string, string> = {
    "a site's findings": `/?site=${worst?.call_site ?? ""}`,
    "rows behind a figure": "/?requests=all&by=lost",
    "a request's panel": `/map/?diagnosis=${diagnosis ?? ""}&request=20`,
    "the map as a table": "/map/?as=table&group=call_site",
  };
  for (const kind of ["replay", "verdict", "task", "canary"] as const) {
    const [item] = (await server.get("/api/results", { query: { kind } })).items;
    ways[`a ${kind}`] = `/evidence/?${kind}=${item?.id ?? ""}`;
  }
  return ways;
}

describe.each(LOOKS)("what is opened: $scheme, $width px", (look) => {
  it("findings, rows, panels and evidence", async () => {
    const visit = await Visit.of(browser, server, look);
    const found: Record<string, string[]> = {};
    for (const [what, path] of Object.entries(await opened())) {
      await visit.go(path);
      const wrong = await visit.axe();
      if ((await visit.overflow()) > 0) wrong.push("scrolls sideways");
      if (wrong.length > 0) found[what] = wrong;
    }
    expect(found).toEqual({});
    await visit.close();
  });

  it("the word for an approval", async () => {
    const [waiting] = (await server.get("/api/overview")).behaviour?.waiting ?? [];
    const visit = await Visit.of(browser, server, look);
    await visit.go(`/evidence/?verdict=${waiting ?? ""}`);
    const form = visit.page.getByRole("form", { name: /^Approve/ }).first();
    await form.getByRole("button", { name: /approve/i }).click();
    expect(await visit.axe()).toEqual([]);
    await form.getByLabel("Your name").fill("R. Okafor");
    await form.getByLabel(/why/i).fill("As good as before.");
    await form.getByRole("button", { name: /approve/i }).click();
    await visit.page.getByRole("dialog").waitFor();
    expect(await visit.axe()).toEqual([]);
    expect(await visit.overflow()).toBe(0);
    await visit.close();
  });
});

describe("with the keyboard alone", () => {
  it.each(VIEWS)("every control of $name is reached, in sight, and the focus gets out again", async ({ path }) => {
    const visit = await Visit.of(browser, server);
    await visit.go(path);
    const stops = await tabStops(visit.page);
    const reached = new Set(stops.map((stop) => stop.at));
    expect((await controls(visit.page)).filter((control) => !reached.has(control))).toEqual([]);
    expect(stops.filter((stop) => !stop.seen).map((stop) => stop.at)).toEqual([]);
    await visit.close();
  });

  it.each(VIEWS)("$name is reached from the first view, and the first stop leads past the views", async ({ name, path }) => {
    const visit = await Visit.of(browser, server);
    await visit.go("/");
    await visit.page.keyboard.press("Tab");
    expect(await visit.page.evaluate("document.activeElement.getAttribute('href')")).toBe("#content");
    const link = visit.page.getByRole("navigation", { name: "Views" }).getByRole("link", { name, exact: true });
    for (let n = 0; n < 20 && !(await link.evaluate((one) => one === document.activeElement)); n += 1) {
      await visit.page.keyboard.press("Tab");
    }
    await visit.page.keyboard.press("Enter");
    await visit.page.waitForURL((at) => at.pathname === path);
    await visit.settled();
    expect(await visit.page.getByRole("heading", { level: 1 }).innerText()).toContain(name);
    expect(await visit.page.title()).toContain(name);
    await visit.close();
  });
});

describe("for a screen reader", () => {
  it.each(VIEWS)("$name has one main heading, one main part, and no picture without words", async ({ path }) => {
    const visit = await Visit.of(browser, server);
    await visit.go(path);
    expect(await visit.page.locator("h1").count()).toBe(1);
    expect(await visit.page.locator("main").count()).toBe(1);
    const dumb = await visit.page.evaluate(() =>
      [...document.querySelectorAll("canvas, svg")]
        .filter((picture) => picture.closest('[aria-hidden="true"]') === null)
        .filter((picture) => {
          const own = picture.getAttribute("aria-label") ?? picture.getAttribute("aria-labelledby");
          const around = picture.closest('[role="img"], [role="application"], figure, button, a, [role="group"]');
          const said = own ?? around?.getAttribute("aria-label") ?? around?.getAttribute("aria-labelledby");
          return !said && !(around?.textContent ?? "").trim();
        })
        .map((picture) => picture.outerHTML.slice(0, 200)),
    );
    expect(dumb).toEqual([]);
    await visit.close();
  });
});
