// Who is let in, and that nothing outside the folder can be had. Questions go over the wire as they stand.

import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { launch } from "@/e2e/browser";
import { type Answer, Server } from "@/e2e/server";

const SECRET = "outside-the-folder-5f1e";
let folder: string;
let server: Server;
let browser: Browser;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "keepwarm-security-"));
  cpSync(inject("results"), join(folder, "results"), { recursive: true });
  mkdirSync(join(folder, "results", "sub"));
  writeFileSync(join(folder, "secret.json"), JSON.stringify({ schema: "keepwarm.canary/1", secret: SECRET }));
  symlinkSync(join(folder, "secret.json"), join(folder, "results", "linked.json"));
  symlinkSync(folder, join(folder, "results", "up"));
  server = await Server.start(join(folder, "results"));
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Every answer says what it is and where it may be used. */
function guarded({ headers }: Answer): void {
  expect(headers["x-content-type-options"]).toBe("nosniff");
  expect(headers["access-control-allow-origin"]).toBeUndefined();
  expect(headers["set-cookie"]).toBeUndefined();
}

function problem(answer: Answer): string {
  return (JSON.parse(answer.text) as { problem: string }).problem;
}

describe("the token", () => {
  it("lets in, once, as a cookie that scripts cannot read and other sites cannot send", async () => {
    const opened = await server.stranger(`/?token=${server.token}`);
    const cookie = (opened.headers["set-cookie"] ?? []).join("\n");
    expect(cookie).toMatch(/HttpOnly/i);
    expect(cookie).toMatch(/SameSite=Strict/i);
    expect(server.token.length).toBeGreaterThanOrEqual(32);
    expect((await server.ask("/api/server")).status).toBe(200);
  });

  it.each(["/api/server", "/api/results", "/api/overview"])("is needed for %s", async (path) => {
    const wrong: Record<string, string>[] = [{}, { cookie: "keepwarm=wrong" }, { authorization: "Bearer wrong" }];
    for (const headers of wrong) {
      const refused = await server.stranger(path, { headers });
      expect(refused.status).toBe(401);
      expect(problem(refused)).toMatch(/token/);
      guarded(refused);
    }
  });

  it("is not taken when wrong, longer, shorter or in other letters", async () => {
    const { token } = server;
    for (const wrong of ["", "wrong", `${token}0`, token.slice(1), token.toUpperCase() + token, "%00", `${token}%00`]) {
      const refused = await server.stranger(`/api/server?token=${wrong}`);
      expect(refused.status).toBe(401);
      const page = await server.stranger(`/?token=${wrong}`);
      expect(page.headers["set-cookie"]).toBeUndefined();
    }
  });

  it("leaves the address of the page, so that it is not sent on", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.opened());
    await page.waitForURL((at) => !at.search.includes("token"));
    expect(await page.evaluate("document.cookie")).toBe("");
    await context.close();
  });

  it("does not let a browser in that has none, and says what to open", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.origin);
    await page.getByText(/token/).first().waitFor();
    await context.close();
  });
});

describe("Host and Origin", () => {
  it.each(["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "[::1].evil"])(
    "a Host of %j is refused, with the cookie too",
    async (host) => {
      for (const path of ["/", "/api/server"]) {
        const refused = await server.ask(path, { headers: { host } });
        expect([400, 403]).toContain(refused.status);
        expect(refused.text).not.toContain("keepwarm_version");
      }
    },
  );

  it.each(["", "Host:\r\n", "Host: 127.0.0.1\r\nHost: evil.example\r\n"])("a call with %j is refused", async (host) => {
    expect(await raw(`GET /api/server HTTP/1.1\r\n${host}\r\n`)).toMatch(/^HTTP\/1.1 40[03]/);
  });

  it("its own names are taken", async () => {
    for (const name of ["127.0.0.1", "localhost"]) {
      const answer = await server.ask("/api/server", { headers: { host: `${name}:${server.port}` } });
      expect(answer.status).toBe(200);
    }
  });

  const APPROVAL = JSON.stringify({ check: "golden-cases", case: "x", sha256: "0".repeat(64), approver: "x", reason: "x" });

  it.each<Record<string, string>>([
    { origin: "http://evil.example" },
    { origin: "null" },
    { origin: "http://127.0.0.1:1" },
    { "sec-fetch-site": "cross-site" },
  ])("a post from %j is refused", async (headers) => {
    const { items } = await server.get("/api/results", { query: { kind: "verdict" } });
    const at = `/api/verdicts/${items[0]?.id ?? ""}/approvals`;
    const json = { "content-type": "application/json" };
    const refused = await server.ask(at, { method: "POST", headers: { ...json, ...headers }, body: APPROVAL });
    expect(refused.status).toBe(403);
  });

  it("a page of another site can neither read nor post", async () => {
    const { items } = await server.get("/api/results", { query: { kind: "verdict" } });
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.opened());
    await page.goto("data:text/html,<title>another site</title>");
    const read = await page.evaluate(
      (at) => fetch(at, { credentials: "include" }).then((answer) => answer.text()).catch(() => "refused"),
      `${server.origin}/api/server`,
    );
    expect(read).toBe("refused");
    const at = `${server.origin}/api/verdicts/${items[0]?.id ?? ""}/approvals`;
    const statuses: number[] = [];
    page.on("response", (response) => statuses.push(response.status()));
    await page.evaluate(
      ([to, body]) => fetch(to ?? "", { method: "POST", mode: "no-cors", credentials: "include", body: body ?? "" }),
      [at, APPROVAL],
    ).catch(() => undefined);
    expect(statuses.every((status) => status >= 400)).toBe(true);
    const verdict = await server.get("/api/verdicts/{id}", { path: { id: items[0]?.id ?? "" } });
    expect(verdict.approvals).toEqual([]);
    await context.close();
  });
});

describe("paths", () => {
  const UP = [
    "/../secret.json",
    "/../../../../../../etc/passwd",
    "/%2e%2e/secret.json",
    "/..%2fsecret.json",
    "/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/..%5csecret.json",
    "/....//secret.json",
    "/_next/../../secret.json",
    "/_next/%2e%2e/%2e%2e/%2e%2e/pyproject.toml",
    "//etc/passwd",
    "/%2fetc%2fpasswd",
    "/map/..%00/secret.json",
    "/linked.json",
    "/up/secret.json",
    "/results/diagnosis.json",
    "/diagnosis.json",
    "/repair/traffic.jsonl.gz",
    "/api/results/../../secret.json",
    "/api/verdicts/..%2f..%2fsecret",
    "/api/diagnoses/..%2f..%2f..%2fsecret.json/templates/x",
    "/api/diagnoses/%00/map",
  ];

  it.each(UP)("%s is no way out", async (path) => {
    const answer = await server.ask(path);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(answer.text).not.toContain(SECRET);
    expect(answer.text).not.toMatch(/root:|keepwarm\.diagnosis|build-system/);
    guarded(answer);
  });

  it("what a link leads to is not listed", async () => {
    const { items } = await server.get("/api/results", { query: { limit: 1000 } });
    expect(items.map((item) => item.path).filter((path) => path.includes("linked") || path.startsWith("up/"))).toEqual([]);
    expect(JSON.stringify(items)).not.toContain(SECRET);
  });

  it("bytes that are no request end in an answer or a closed connection, and the server goes on", async () => {
    for (const line of ["GET /\u0000 HTTP/1.1\r\n\r\n", "GET http://evil.example/api/server HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n", "x".repeat(200_000)]) {
      const said = await raw(line);
      expect(said).not.toMatch(/^HTTP\/1.1 (200|5)/);
    }
    expect((await server.ask("/api/server")).status).toBe(200);
  });
});

describe("what is sent along", () => {
  it.each(["/", "/map/", "/evidence/", "/api/server"])("%s has a strict policy and is not cached elsewhere", async (path) => {
    const answer = await server.ask(path);
    expect(answer.status).toBe(200);
    guarded(answer);
    const policy = String(answer.headers["content-security-policy"]);
    expect(policy).toMatch(/default-src '(none|self)'/);
    expect(policy).toMatch(/frame-ancestors 'none'/);
    expect(policy).toMatch(/base-uri '(none|self)'/);
    expect(policy).not.toMatch(/unsafe-inline|unsafe-eval|\*|https?:/);
    expect(answer.headers["referrer-policy"]).toMatch(/no-referrer|same-origin/);
  });

  it("no answer names the folder's place on the machine", async () => {
    for (const path of ["/api/server", "/api/results?limit=1000", "/api/overview"]) {
      expect((await server.ask(path)).text).not.toContain(folder);
    }
  });
});

/** What the server sends back for these bytes until it closes the connection or keeps silent. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let said = "";
    const socket = connect(server.port, "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk) => {
      said += chunk.toString();
      socket.end();
    });
    socket.on("error", () => resolve(said));
    socket.on("close", () => resolve(said));
    socket.setTimeout(3_000, () => socket.destroy());
  });
}
