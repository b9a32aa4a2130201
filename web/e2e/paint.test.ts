// How soon the first view is there, measured in the browser. It is reported and nothing is asserted on it: what is
// asserted is that there was something to measure.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { Browser } from "playwright-core";
import { launch } from "@/e2e/browser";
import { REPOSITORY } from "@/e2e/places";
import { Server } from "@/e2e/server";

const RUNS = 5;
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

interface Paint {
  first_contentful_paint_ms: number;
  leaderboard_ms: number;
  script_bytes: number;
}

/** One visit with nothing remembered; times from the start of the navigation, as the browser's own clock has them. */
async function visited(): Promise<Paint> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const seen = (): void => {
      if (document.querySelector("main table tbody tr") === null) requestAnimationFrame(seen);
      else requestAnimationFrame(() => performance.mark("leaderboard"));
    };
    requestAnimationFrame(seen);
  });
  await page.goto(server.opened());
  // The browser tells of a paint some time after it: a table that is there may not have been painted yet.
  await page.waitForFunction(() =>
    ["leaderboard", "first-contentful-paint"].every((name) => performance.getEntriesByName(name).length > 0),
  );
  const measured = await page.evaluate(() => ({
    first_contentful_paint_ms: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
    leaderboard_ms: performance.getEntriesByName("leaderboard")[0]?.startTime ?? NaN,
    script_bytes: performance
      .getEntriesByType("resource")
      .filter((entry) => entry.name.endsWith(".js"))
      .reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).encodedBodySize, 0),
  }));
  await context.close();
  return measured;
}

it("the first view is there", async () => {
  const paints: Paint[] = [];
  for (let n = 0; n < RUNS; n += 1) paints.push(await visited());
  const median = (of: (paint: Paint) => number): number => {
    const sorted = paints.map(of).sort((a, b) => a - b);
    return Math.round(sorted[Math.floor(RUNS / 2)] ?? NaN);
  };
  const report = {
    measured: "headless Chromium, software rendering, each visit with an empty cache",
    visits: RUNS,
    first_contentful_paint_ms: median((paint) => paint.first_contentful_paint_ms),
    leaderboard_ms: median((paint) => paint.leaderboard_ms),
    script_bytes: median((paint) => paint.script_bytes),
  };
  expect(Object.values(report).some(Number.isNaN)).toBe(false);
  const into = join(REPOSITORY, "build", "e2e");
  mkdirSync(into, { recursive: true });
  writeFileSync(join(into, "first-paint.json"), `${JSON.stringify(report, null, 1)}\n`);
  process.stdout.write(
    `first view, median of ${RUNS} visits: painted after ${report.first_contentful_paint_ms} ms, ` +
      `leaderboard after ${report.leaderboard_ms} ms, ${Math.round(report.script_bytes / 1000)} KB of scripts\n`,
  );
});
