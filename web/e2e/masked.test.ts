// Recorded values are shown by a server that was started with --reveal, and by no other: neither in an answer nor on
// a page.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, Visit } from "@/e2e/browser";
import { everything } from "@/e2e/everything";
import { PYTHON, REPOSITORY } from "@/e2e/places";
import { Server } from "@/e2e/server";
import { VIEWS } from "@/e2e/views";

const REQUESTS = 16;
const SYLLABLES = ["ka", "lo", "mi", "ru", "te", "va", "zo", "ni", "pe", "shu", "dra", "fo", "gi", "be", "sy", "xan"];

/** A name that nobody else has: what varies between requests is a value, what they share is the prompt's own text. */
function name(what: string, n: number): string {
  const digest = createHash("sha256").update(`${what} ${n}`).digest();
  const said = [...digest.subarray(0, 5)].map((byte) => SYLLABLES[byte % 16] ?? "").join("");
  return said[0]?.toUpperCase() + said.slice(1);
}

/** A card's number, of which no four digits are shared. */
function card(n: number): string {
  const digits = BigInt(`0x${createHash("sha256").update(`card ${n}`).digest("hex")}`).toString().slice(0, 16);
  return digits.replace(/(....)(?=.)/g, "$1 ");
}

const VALUES = Array.from({ length: REQUESTS }, (_, n) => [name("first", n), name("last", n), name("town", n), card(n)]);
const RECORDED = new RegExp(VALUES.flat().join("|"), "i");
const RULES = "Refunds above 500 need the approval of finance. Answer in three sentences. ".repeat(30);
let browser: Browser;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "keepwarm-masked-"));
  const lines = Array.from({ length: REQUESTS }, (_, n) => JSON.stringify(record(n)));
  writeFileSync(join(folder, "trace.jsonl"), `${lines.join("\n")}\n`);
  diagnose("masked");
  diagnose("revealed", "--reveal");
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

function record(n: number): unknown {
  return {
    id: `r-${n}`,
    timestamp: 1_778_570_000 + 60 * n,
    session_id: `s-${Math.floor(n / 2)}`,
    body: {
      model: "m",
      messages: [
        { role: "system", content: `The customer is ${name("first", n)} ${name("last", n)}, born in ${name("town", n)}.\n${RULES}` },
        { role: "user", content: `My card ${card(n)} was charged twice, says ${name("last", n)}.` },
      ],
    },
    response: { choices: [{ index: 0, message: { role: "assistant", content: `Dear ${name("last", n)}` } }] },
  };
}

function diagnose(name: string, ...options: string[]): void {
  const out = join(folder, name);
  const run = ["-m", "keepwarm", "diagnose", join(folder, "trace.jsonl"), "--out", out, ...options];
  execFileSync(PYTHON, run, { cwd: REPOSITORY, stdio: "ignore" });
}

describe.each([
  { saved: "masked", options: [] },
  { saved: "masked", options: ["--reveal"] },
  { saved: "revealed", options: [] },
])("diagnosed $saved, served with $options", ({ saved, options }) => {
  let server: Server;
  beforeAll(async () => {
    server = await Server.start(join(folder, saved), ...options);
  });
  afterAll(() => server.stop());

  it("no answer holds a recorded value", async () => {
    const told = [...(await everything(server))].filter(([, text]) => RECORDED.test(text)).map(([path]) => path);
    expect(told).toEqual([]);
  });

  it("no page shows one", async () => {
    const visit = await Visit.of(browser, server);
    const [diagnosis] = (await server.get("/api/results", { query: { kind: "diagnosis" } })).items;
    for (const { path } of VIEWS) {
      await visit.go(`${path}?diagnosis=${diagnosis?.id ?? ""}&request=3`);
      expect(await visit.page.content()).not.toMatch(RECORDED);
    }
    await visit.close();
  });
});

describe("diagnosed and served with --reveal", () => {
  it("the values are there, and the page says so", async () => {
    const server = await Server.start(join(folder, "revealed"), "--reveal");
    expect((await server.get("/api/server")).revealed).toBe(true);
    const told = [...(await everything(server))].filter(([, text]) => RECORDED.test(text)).map(([path]) => path);
    expect(told).not.toEqual([]);
    const visit = await Visit.of(browser, server);
    const [diagnosis] = (await server.get("/api/results", { query: { kind: "diagnosis" } })).items;
    await visit.go(`/?diagnosis=${diagnosis?.id ?? ""}&request=3`);
    await visit.page.getByText(RECORDED).first().waitFor();
    await visit.close();
    await server.stop();
  });
});
