// Chromium, and pages that remember everything that went wrong on them.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { CHROMIUM } from "@/e2e/places";
import type { Server } from "@/e2e/server";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf-8");

export type Scheme = "light" | "dark";
export interface Look {
  scheme?: Scheme;
  width?: number; // CSS pixels: 640 is a laptop of 1280 at 200%
  height?: number;
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
}

/** A tab of somebody who was let in; `go` opens a page. */
export class Visit {
  readonly problems: string[] = [];
  private expected: RegExp[] = [];

  private constructor(
    readonly server: Server,
    readonly context: BrowserContext,
    readonly page: Page,
  ) {}

  static async of(browser: Browser, server: Server, look: Look = {}): Promise<Visit> {
    const { scheme = "light", width = 1280, height = 800 } = look;
    const context = await browser.newContext({
      colorScheme: scheme,
      viewport: { width, height },
      reducedMotion: "reduce",
      locale: "en-GB",
      timezoneId: "UTC",
    });
    context.setDefaultTimeout(30_000);
    const page = await context.newPage();
    const visit = new Visit(server, context, page);
    visit.watch();
    await visit.watchPolicy();
    // The cookie is there as after the first page (security.test.ts opens that); which page comes next is the test's.
    await context.request.get(server.opened());
    return visit;
  }

  /** Go to an address within the dashboard and wait until nothing is loading there. */
  async go(path: string): Promise<void> {
    await this.page.goto(this.server.origin + path);
    await this.settled();
  }

  async settled(): Promise<void> {
    await this.page.waitForLoadState("networkidle");
    await this.page.waitForFunction(() => {
      const main = document.querySelector("main");
      if (main === null || main.querySelector("h1") === null) return false;
      return main.querySelector('[aria-busy="true"]') === null && !/^Loading .*…$/m.test(main.innerText);
    });
    // What looks at its own size after it was laid out (charts, tables that scroll) has looked two frames later.
    await this.page.evaluate(
      () => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))),
    );
  }

  /** All that a person reads on the page. */
  text(): Promise<string> {
    return this.page.evaluate(() => document.body.innerText);
  }

  main(): Promise<string> {
    return this.page.locator("main").innerText();
  }

  /** Say that something is meant to go wrong on this page. */
  expect(problem: RegExp): void {
    this.expected.push(problem);
  }

  /** Fails if anything happened that was not expected. */
  clean(): void {
    expect(this.problems.filter((problem) => !this.expected.some((one) => one.test(problem)))).toEqual([]);
  }

  async close(): Promise<void> {
    await this.context.close();
    this.clean();
  }

  /** What axe finds wrong, one line each. */
  async axe(): Promise<string[]> {
    await this.page.evaluate(AXE);
    const found = (await this.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as AxeResults;
    return found.violations.flatMap((rule) =>
      rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary?.split("\n")[1] ?? ""}`),
    );
  }

  /** By how many pixels the page is wider than the window. */
  overflow(): Promise<number> {
    return this.page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth - clientWidth;
    });
  }

  private watch(): void {
    const { page, problems } = this;
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") problems.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => problems.push(`page error: ${error.message}`));
    page.on("dialog", (dialog) => {
      problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      const at = request.url();
      if (!at.startsWith(this.server.origin) && !/^(data|blob|about):/.test(at)) problems.push(`asks elsewhere: ${at}`);
    });
    page.on("requestfailed", (request) => {
      const why = request.failure()?.errorText ?? "";
      // A view that is left takes its questions back.
      if (why !== "net::ERR_ABORTED") problems.push(`request failed: ${request.url()} ${why}`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) problems.push(`status ${response.status()}: ${response.url()}`);
    });
  }

  private async watchPolicy(): Promise<void> {
    await this.page.exposeFunction("keepwarmPolicy", (said: string) => this.problems.push(`policy: ${said}`));
    await this.page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        const heard = window as unknown as { keepwarmPolicy: (said: string) => void };
        heard.keepwarmPolicy(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
  }
}
