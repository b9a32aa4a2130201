// After `next build`: take out of out/ what no page asks for. These are the old router's scripts, and polyfills
// for browsers that have no modules: those could not show the dashboard anyway.

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const OUT = "out";
const POLYFILLS = /<script src="[^"]*\/polyfills-[^"]*" noModule="">\s*<\/script>/g;

const files = readdirSync(OUT, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

for (const page of files.filter((file) => file.endsWith(".html"))) {
  writeFileSync(page, readFileSync(page, "utf8").replaceAll(POLYFILLS, ""));
}

const chunks = files.filter((file) => /-[0-9a-f]{16}\.js$/.test(file));
const texts = new Map(files.filter((file) => /\.(html|txt|js)$/.test(file)).map((file) => [file, readFileSync(file, "utf8")]));
let removed = true;
while (removed) {
  removed = false;
  for (const chunk of chunks) {
    if (!texts.has(chunk)) continue;
    const digest = basename(chunk, ".js").slice(-16);
    if ([...texts].some(([file, text]) => file !== chunk && text.includes(digest))) continue;
    rmSync(chunk);
    texts.delete(chunk);
    removed = true;
  }
}
