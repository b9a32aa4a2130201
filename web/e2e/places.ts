// Where things lie, as the Makefile sets them up.

import { fileURLToPath } from "node:url";

export const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
export const BUILT = fileURLToPath(new URL("../out", import.meta.url));
export const PYTHON = process.env["KEEPWARM_TEST_PYTHON"] ?? `${REPOSITORY}.venvs/dev/bin/python`;
export const CHROMIUM = process.env["KEEPWARM_TEST_CHROMIUM"] ?? `${REPOSITORY}build/chromium/bin/chromium`;
export const SCREENSHOTS = `${REPOSITORY}docs/screenshots`;
