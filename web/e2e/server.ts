// The real server over a folder, and questions put to it without a browser.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { type IncomingHttpHeaders, request } from "node:http";
import type { AnswerOf } from "@/lib/api/client";
import { address, type Call, type get } from "@/lib/api/client";
import { PYTHON, REPOSITORY } from "@/e2e/places";

type GetPath = Parameters<typeof get>[0];

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export class Server {
  private constructor(
    private readonly process: ChildProcess,
    readonly origin: string,
    readonly token: string,
    private readonly cookie: string,
  ) {}

  /** Start `keepwarm serve` on a free port; the address it prints holds the token. */
  static async start(folder: string, ...options: string[]): Promise<Server> {
    const child = spawn(PYTHON, ["-m", "keepwarm", "serve", folder, "--port", "0", "--no-open", ...options], {
      cwd: REPOSITORY,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const opened = new URL(await printedAddress(child));
    const first = await ask(opened.origin, opened.pathname + opened.search);
    const cookie = (first.headers["set-cookie"] ?? []).map((one) => one.split(";")[0]).join("; ");
    return new Server(child, opened.origin, opened.searchParams.get("token") ?? "", cookie);
  }

  /** Where a person starts: the address with the token. */
  opened(path = "/"): string {
    const at = new URL(path, this.origin);
    at.searchParams.set("token", this.token);
    return at.href;
  }

  get port(): number {
    return Number(new URL(this.origin).port);
  }

  /** An answer of the API, as a browser that was let in gets it. */
  async get<P extends GetPath>(template: P, call: Call<P> = {}): Promise<AnswerOf<P>> {
    const answer = await this.ask(address(template, call));
    if (answer.status !== 200) throw new Error(`${template}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return JSON.parse(answer.text) as AnswerOf<P>;
  }

  ask(path: string, { method = "GET", headers = {}, body }: Asked = {}): Promise<Answer> {
    const asked = { method, headers: { cookie: this.cookie, ...headers } };
    return ask(this.origin, path, body === undefined ? asked : { ...asked, body });
  }

  /** The same without the cookie. */
  stranger(path: string, asked: Asked = {}): Promise<Answer> {
    return ask(this.origin, path, asked);
  }

  /** Process ids of the simulations that the server runs now. */
  simulating(): number[] {
    const told = spawnSync("ps", ["-o", "pid=,args=", "--ppid", String(this.process.pid)]).stdout.toString();
    return told.split("\n").filter((line) => line.includes("spawn_main")).map((line) => parseInt(line, 10));
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => this.process.once("exit", () => resolve()));
    this.process.kill("SIGTERM");
    const late = setTimeout(() => this.process.kill("SIGKILL"), 15_000);
    await ended;
    clearTimeout(late);
    if (this.process.signalCode === "SIGKILL") throw new Error("keepwarm serve did not end on SIGTERM");
  }
}

function printedAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const heard = (chunk: Buffer): void => {
      printed += chunk.toString();
      const found = /http:\/\/\S+token=\S+/.exec(printed);
      if (found !== null) resolve(found[0]);
    };
    child.stdout?.on("data", heard);
    child.stderr?.on("data", heard);
    child.once("exit", (code) => reject(new Error(`keepwarm serve ended with ${code}: ${printed}`)));
  });
}

/** One request, its path sent exactly as it stands. */
export function ask(origin: string, path: string, { method = "GET", headers = {}, body }: Asked = {}): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const sent = request({ host: hostname, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString("utf-8"),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
