// node break_map_fps.mjs ADDRESS CHROMIUM: scrolls, pans and zooms the break map, prints one JSON document.
//
// A frame counts only if the pixels on the canvas differ from those of the frame before: in every animation
// frame some rows of pixels are read back from the canvas itself. A change outside of these rows is not counted.

import { chromium } from "playwright-core";

const [opened, executablePath] = process.argv.slice(2);
const VIEWPORT = { width: 1280, height: 800 };
const PHASE_MS = 4000;
const WARM_MS = 700;

const browser = await chromium.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage({ viewport: VIEWPORT });
  await page.goto(opened);
  await page.goto(new URL("/map/", opened).href);
  await page.waitForSelector("canvas");
  // The progress line is empty when every request is there.
  await page.waitForFunction(
    () => ![...document.querySelectorAll('[role="status"]')].some((line) => /^Loading/.test(line.textContent ?? "")),
  );
  await page.evaluate(prepare);
  const phases = {};
  await page.click("canvas", { position: { x: 400, y: 300 }, trial: true });
  for (const [name, start, x, y, ctrl, turn] of [
    ["scroll", "first", 0, 41, false, 120],
    ["pan", "near", 17, 11, false, 40],
    ["zoom", "first", 0, -20, true, 40],
    ["zoom of all", "all", 0, -8, true, 30],
  ]) {
    const drawn = await counted(() =>
      page.evaluate((phase) => window.breakMapPhase(phase), {
        ...{ start, x, y, ctrl, turn },
        ...{ ms: PHASE_MS, warm: WARM_MS },
      }),
    );
    phases[name] = drawn;
  }
  process.stdout.write(`${JSON.stringify({ viewport: VIEWPORT, renderer: await renderer(), phases })}\n`);

  /** What `run` gives, with the frames that the compositor drew meanwhile. */
  async function counted(run) {
    await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline.frame", "devtools.timeline.frame"] });
    const result = await run();
    const trace = JSON.parse((await browser.stopTracing()).toString("utf8"));
    const drawn = trace.traceEvents.filter((event) => event.name === "DrawFrame").length;
    return { ...result, drawn };
  }

  async function renderer() {
    return page.evaluate(() => {
      const gl = document.createElement("canvas").getContext("webgl");
      const said = gl?.getExtension("WEBGL_debug_renderer_info");
      return said ? String(gl.getParameter(said.UNMASKED_RENDERER_WEBGL)) : "none";
    });
  }
} finally {
  await browser.close();
}

/** In the page: `breakMapPhase` plays one phase, an event a frame, back and forth every `turn` frames. */
function prepare() {
  const canvas = document.querySelector("canvas");
  const pen = canvas.getContext("2d");
  const ROWS = 16;
  const box = canvas.getBoundingClientRect();

  const sample = () => {
    let sum = 2166136261;
    for (let i = 1; i <= ROWS; i += 1) {
      const row = pen.getImageData(0, Math.floor((i * canvas.height) / (ROWS + 1)), canvas.width, 1);
      for (const pixel of new Uint32Array(row.data.buffer)) sum = Math.imul(sum ^ pixel, 16777619);
    }
    return sum;
  };
  const wheel = (deltaX, deltaY, ctrlKey) =>
    canvas.dispatchEvent(
      new WheelEvent("wheel", {
        ...{ deltaX, deltaY, ctrlKey, bubbles: true, cancelable: true },
        ...{ clientX: box.left + 0.4 * box.width, clientY: box.top + 0.5 * box.height },
      }),
    );
  const key = (name) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  const starts = {
    all: () => key("0"),
    first: () => {
      key("0");
      for (let i = 0; i < 60; i += 1) key("]");
      for (let i = 0; i < 7; i += 1) key("[");
    },
    near: () => {
      for (let i = 0; i < 6; i += 1) key("+");
    },
  };

  window.breakMapPhase = async ({ start, x, y, ctrl, turn, ms, warm }) => {
    starts[start]();
    await new Promise((done) => setTimeout(done, warm));
    const intervals = [];
    let frames = 0;
    let checkedMs = 0;
    let before = sample();
    let changedAt = 0;
    const elapsedMs = await new Promise((done) => {
      let from = 0;
      const tick = (now) => {
        if (from === 0) from = now;
        const begun = performance.now();
        const sum = sample();
        checkedMs += performance.now() - begun;
        frames += 1;
        if (sum !== before) {
          if (changedAt > 0) intervals.push(now - changedAt);
          changedAt = now;
          before = sum;
        }
        if (now - from >= ms) {
          done(now - from);
          return;
        }
        const forth = Math.floor(frames / turn) % 2 === 0 ? 1 : -1;
        wheel(forth * x, forth * y, ctrl);
        requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    });
    return { elapsedMs, frames, checkedMs: checkedMs / frames, intervals };
  };
}
