// Slots dragged by the pointer, the map pinched by two fingers.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { launch, Visit } from "@/e2e/browser";
import { Server } from "@/e2e/server";

let browser: Browser;
let server: Server;

beforeAll(async () => {
  browser = await launch();
  server = await Server.start(inject("results"));
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

interface Point {
  x: number;
  y: number;
}

/** The middle of the first slot in the text, and the place in front of all text. */
async function slotIn(page: Page): Promise<Point & { start: Point }> {
  const slot = await page.locator("button[data-slot]").first().boundingBox();
  const start = await page.locator('[data-gap="0"]').evaluate((gap) => {
    const { left, top, height } = gap.getBoundingClientRect();
    return { x: left, y: top + height / 2 };
  });
  if (slot === null) throw new Error("the template shows no slot that can be moved");
  return { x: slot.x + slot.width / 2, y: slot.y + slot.height / 2, start };
}

it("a slot that is dragged to the start is put there, keeps the focus, and is in the address", async () => {
  const visit = await Visit.of(browser, server);
  const { page } = visit;
  await visit.go("/diff/");
  const { x, y, start } = await slotIn(page);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(start.x, start.y, { steps: 4 });
  await page.getByRole("status").filter({ hasText: /would be put/ }).waitFor();
  await page.mouse.up();
  await page.getByRole("status").filter({ hasText: /is put/ }).waitFor();
  expect(new URL(page.url()).searchParams.get("moves")).toMatch(/^0:/);
  const slot = await page.locator("button[data-slot]").first().getAttribute("data-slot");
  expect(await page.evaluate("document.activeElement.dataset.slot")).toBe(slot);
  expect(await visit.main()).toMatch(/under consideration\s+\S.* put before/i);
  expect(await page.getByRole("button", { name: "Simulate", exact: true }).isEnabled()).toBe(true);
  expect(await visit.axe()).toEqual([]);
  await visit.close();
});

it("a drag that Escape ends, and a click, move nothing", async () => {
  const visit = await Visit.of(browser, server);
  const { page } = visit;
  await visit.go("/diff/");
  const { x, y, start } = await slotIn(page);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(start.x, start.y, { steps: 4 });
  await page.getByRole("status").filter({ hasText: /would be put/ }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("status").filter({ hasText: /stays where it was/ }).waitFor();
  await page.mouse.up();
  await page.mouse.click(x, y);
  expect(new URL(page.url()).search).toBe("");
  await visit.close();
});

it("two fingers zoom the map, and one that held still is no click; one finger that taps is", async () => {
  const visit = await Visit.of(browser, server);
  const { page } = visit;
  await visit.go("/map/");
  const box = await page.getByRole("application").boundingBox();
  if (box === null) throw new Error("there is no map");
  const still = { id: 1, x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const other = (x: number) => ({ id: 2, x: still.x + x, y: still.y });
  const touch = await visit.context.newCDPSession(page);
  const send = (type: "touchStart" | "touchMove" | "touchEnd", touchPoints: (Point & { id: number })[]) =>
    touch.send("Input.dispatchTouchEvent", { type, touchPoints });
  await send("touchStart", [still]);
  await send("touchStart", [still, other(40)]);
  for (let x = 50; x <= 160; x += 10) await send("touchMove", [still, other(x)]);
  await send("touchEnd", [still]);
  await send("touchEnd", []);
  await page.waitForURL(/[?&]at=/);
  expect(await page.getByRole("dialog").count()).toBe(0);
  await send("touchStart", [still]);
  await send("touchEnd", []);
  await page.getByRole("dialog").waitFor();
  await visit.close();
});
