import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// One browser at a time on few cores. Limits are for what hangs: no test asserts on a time. A test that fails, fails.
// Pictures are taken when they are asked for, so that an ordinary run changes no committed file.
const pictures = process.env["KEEPWARM_SCREENSHOTS"] === "1";

export default defineConfig({
  resolve: { alias: { "@": fileURLToPath(new URL(".", import.meta.url)) } },
  test: {
    include: ["e2e/**/*.test.ts"],
    exclude: pictures ? [] : ["e2e/screenshots.test.ts"],
    globalSetup: ["e2e/setup.ts"],
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    retry: 0,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    teardownTimeout: 30_000,
  },
});
