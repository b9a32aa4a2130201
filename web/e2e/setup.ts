// Once for all tests: the results of the example, made by the real commands.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { BUILT, CHROMIUM, PYTHON, REPOSITORY } from "@/e2e/places";

declare module "vitest" {
  export interface ProvidedContext {
    results: string; // the folder; copy it before you write into it
  }
}

export default function setUp(project: TestProject): () => void {
  if (!existsSync(join(BUILT, "index.html"))) throw new Error(`${BUILT} has no dashboard; run: make web`);
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is not there; run: make test-web`);
  const made = process.env["KEEPWARM_TEST_RESULTS"]; // a folder that scripts.results made before, to save its seconds
  if (made !== undefined) {
    project.provide("results", made);
    return () => undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "keepwarm-e2e-"));
  const results = join(folder, "results");
  execFileSync(PYTHON, ["-m", "scripts.results", results], { cwd: REPOSITORY, stdio: ["ignore", "ignore", "inherit"] });
  project.provide("results", results);
  return () => rmSync(folder, { recursive: true, force: true });
}
