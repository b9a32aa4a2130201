// Pictures of every view for docs/screenshots, from the same results as the tests: KEEPWARM_SCREENSHOTS=1.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { launch, type Look, Visit } from "@/e2e/browser";
import { SCREENSHOTS } from "@/e2e/places";
import { Server } from "@/e2e/server";
import { VIEWS } from "@/e2e/views";

const LOOKS: readonly (Look & { scheme: "light" | "dark" })[] = [
  { scheme: "light", width: 1280, height: 800 },
  { scheme: "dark", width: 1280, height: 800 },
];
let browser: Browser;
let server: Server;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = await Server.start(inject("results"));
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

async function picture(path: string, look: Look, name: string): Promise<void> {
  const visit = await Visit.of(browser, server, look);
  await visit.go(path);
  const png = await visit.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
  // A window of one colour is a few kilobytes.
  expect(png.byteLength).toBeGreaterThan(10_000);
  await visit.close();
}

for (const { name, path } of VIEWS) {
  const slug = name.toLowerCase().replace(" ", "-");
  it.each(LOOKS)(`${name}, $scheme`, (look) => picture(path, look, `${slug}-${look.scheme}`));
}

it("the first view on a laptop at 200%", () => picture("/", { width: 640, height: 800 }, "call-sites-640"));
