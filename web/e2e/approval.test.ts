// A person approves a changed answer in the browser; the guard takes that word, for that answer and no other.

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { launch, Visit } from "@/e2e/browser";
import { PYTHON } from "@/e2e/places";
import { Server } from "@/e2e/server";

const CASE = "reply-salutation";
const NAME = "R. Okafor <script>window.__pwned=1</script>";
const REASON = "Same letter, another closing line.";
let browser: Browser;
let folder: string;
let server: Server;
let repair: string;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "keepwarm-approval-"));
  cpSync(inject("results"), join(folder, "results"), { recursive: true });
  repair = join(folder, "results", "repair");
  server = await Server.start(join(folder, "results"));
});

afterEach(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Verdict {
  outcome: string;
  base: string;
  head: string;
  approvals_used: { approver: string; reason: string }[];
  approvals_unused: { why: string }[];
}

function verdict(): Verdict {
  return JSON.parse(readFileSync(join(repair, "verdict", "verdict.json"), "utf-8")) as Verdict;
}

/** `keepwarm verify` on the same repair, now with the approvals beside the verdict; its exit code. */
function verifyAgain(): number | null {
  const { base, head } = verdict();
  const run = [
    ...["-m", "keepwarm", "verify", "--repo", "desk", "--base", base, "--head", head, "--task", "task.json"],
    ...["--before", "traffic.jsonl.gz", "--after", "after.jsonl", "--golden", "golden"],
    ...["--tests", "python3 -m unittest discover -s tests", "--out", "verdict"],
    ...["--approve", join("verdict", "approvals.json")],
  ];
  return spawnSync(PYTHON, run, { cwd: repair, stdio: "ignore" }).status;
}

/** From the first view to what waits. */
async function atWhatWaits(visit: Visit): Promise<void> {
  await visit.go("/");
  await visit.page.getByRole("link", { name: /look at what changed/ }).first().click();
  await visit.page.waitForURL(/evidence/);
  await visit.settled();
}

function form(page: Page) {
  return page.getByRole("form", { name: new RegExp(CASE) });
}

async function fillIn(page: Page): Promise<void> {
  await form(page).getByLabel("Your name").fill(NAME);
  await form(page).getByLabel(/why/i).fill(REASON);
  await form(page).getByRole("button", { name: /approve/i }).click();
}

describe("a changed answer", () => {
  it("is read side by side, approved with name and reason, and passes the guard", async () => {
    const visit = await Visit.of(browser, server);
    const { page } = visit;
    await atWhatWaits(visit);
    expect(await page.getByRole("article", { name: new RegExp(CASE) }).innerText()).toMatch(/With kind regards/);

    await form(page).getByRole("button", { name: /approve/i }).click();
    expect(await form(page).getByLabel("Your name").getAttribute("aria-invalid")).toBe("true");
    expect(await page.evaluate("document.activeElement.getAttribute('aria-invalid')")).toBe("true");
    expect(existsSync(join(repair, "verdict", "approvals.json"))).toBe(false);

    await fillIn(page);
    const dialog = page.getByRole("dialog");
    const { answers } = JSON.parse(readFileSync(join(repair, "verdict", "verdict.json"), "utf-8")) as {
      answers: { problems: { approvable_sha256: string | null }[] }[];
    };
    const digest = answers.flatMap((answer) => answer.problems)[0]?.approvable_sha256 ?? "";
    expect(await dialog.innerText()).toContain(digest);
    expect(await visit.axe()).toEqual([]);
    await dialog.getByRole("button", { name: "Approve", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText(/0 waiting, 1 approved/i).waitFor();
    expect(await page.evaluate("window.__pwned")).toBeUndefined();

    const written = JSON.parse(readFileSync(join(repair, "verdict", "approvals.json"), "utf-8")) as unknown;
    const approval = { check: "golden-cases", case: CASE, sha256: digest, approver: NAME, reason: REASON };
    expect(written).toEqual({ schema: "keepwarm.approvals/1", approvals: [approval] });

    // The verdict itself is the guard's, and stays as it was given until the guard is asked again.
    expect(verdict().outcome).toBe("needs-approval");
    expect(verifyAgain()).toBe(0);
    expect(verdict()).toMatchObject({ outcome: "pass", approvals_used: [{ approver: NAME, reason: REASON }] });
    await page.reload();
    await visit.settled();
    expect(await visit.main()).toMatch(/Verdict\s+\S?\s*pass/i);
    expect((await server.get("/api/overview")).behaviour?.needing_approval).toBe(0);
    await visit.close();
  });

  it("that changes once more is waiting again, and the old approval is said to be stale", async () => {
    const visit = await Visit.of(browser, server);
    await atWhatWaits(visit);
    await fillIn(visit.page);
    await visit.page.getByRole("dialog").getByRole("button", { name: "Approve", exact: true }).click();
    await visit.page.getByText(/0 waiting, 1 approved/i).waitFor();

    const path = join(repair, "golden", `${CASE}.json`);
    writeFileSync(path, readFileSync(path, "utf-8").replace("With kind regards,", "With very kind regards,"));
    expect(verifyAgain()).toBe(1);
    expect(verdict()).toMatchObject({ outcome: "needs-approval", approvals_unused: [{ why: "stale" }] });
    await visit.page.reload();
    await visit.settled();
    expect(await visit.main()).toMatch(/1 waiting, 0 approved/i);
    expect(await visit.main()).toMatch(/stale/i);
    await visit.close();
  });

  it("that somebody else approved meanwhile is not approved twice", async () => {
    const visit = await Visit.of(browser, server);
    visit.expect(/status 409|Failed to load resource/);
    await atWhatWaits(visit);
    const other = await Visit.of(browser, server);
    await atWhatWaits(other);
    for (const one of [other, visit]) {
      await fillIn(one.page);
      await one.page.getByRole("dialog").getByRole("button", { name: "Approve", exact: true }).click();
      await one.page.getByText(/0 waiting, 1 approved|not approved/i).first().waitFor();
    }
    const { approvals } = JSON.parse(readFileSync(join(repair, "verdict", "approvals.json"), "utf-8")) as { approvals: unknown[] };
    expect(approvals).toHaveLength(1);
    await other.close();
    await visit.close();
  });

  it("is left alone by Escape and by Cancel, and the focus goes back", async () => {
    const visit = await Visit.of(browser, server);
    await atWhatWaits(visit);
    const { page } = visit;
    await fillIn(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.closest('form') !== null")).toBe(true);
    await form(page).getByRole("button", { name: /approve/i }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(existsSync(join(repair, "verdict", "approvals.json"))).toBe(false);
    await visit.close();
  });
});

it("git is there, for the guard needs it", () => {
  expect(execFileSync("git", ["--version"]).toString()).toMatch(/^git version/);
});
