// The views, and what they say of figures.

import type { Page } from "playwright-core";

export const VIEWS: readonly { name: string; path: string }[] = [
  { name: "Call sites", path: "/" },
  { name: "Break map", path: "/map/" },
  { name: "Prompt diff", path: "/diff/" },
  { name: "Capacity", path: "/capacity/" },
  { name: "Sessions", path: "/sessions/" },
  { name: "Evidence", path: "/evidence/" },
];

/** Text as it is compared: styles may change its case and its white space. */
export function plain(text: string): string {
  return text.replace(/\s+/g, " ").toLowerCase();
}

/** Those of `facts` that the text does not show. */
export function missing(text: string, facts: readonly string[]): string[] {
  const shown = plain(text);
  return facts.filter((fact) => !shown.includes(plain(fact)));
}

export interface Stop {
  at: string; // a way to the element, for messages and comparisons
  seen: boolean; // whether it can be seen that it has the focus
}

/** What can be reached with Tab alone, in order, from the top of the page until it leaves the page. */
export async function tabStops(page: Page, most = 800): Promise<Stop[]> {
  await page.evaluate(() => {
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    window.getSelection()?.removeAllRanges();
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
  });
  const stops: Stop[] = [];
  while (stops.length < most) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(focused);
    if (stop === null || stops.some((earlier) => earlier.at === stop.at)) return stops;
    stops.push(stop);
  }
  throw new Error(`more than ${most} stops: the focus does not get out`);
}

/** Everything that must be among the stops: controls that are shown and not disabled. */
export function controls(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const asked = "a[href], button, input, select, textarea, summary, [tabindex]";
    const shown = [...document.querySelectorAll<HTMLElement>(asked)].filter((element) => {
      if (element.tabIndex < 0 || element.matches(":disabled") || element.closest("[inert]") !== null) return false;
      if (!element.checkVisibility({ visibilityProperty: true })) return false;
      const radio = element instanceof HTMLInputElement && element.type === "radio";
      return !radio || element.checked;
    });
    return shown.map((element) => {
      const way: string[] = [];
      for (let at: Element | null = element; at !== null && at !== document.body; at = at.parentElement) {
        way.unshift(`${at.localName}:nth-child(${[...(at.parentElement?.children ?? [])].indexOf(at) + 1})`);
      }
      return `${way.join(">")} ${(element.getAttribute("aria-label") ?? element.textContent ?? "").trim().slice(0, 40)}`;
    });
  });
}

function focused(): Stop | null {
  const element = document.activeElement;
  if (element === null || element === document.body || element === document.documentElement) return null;
  const way: string[] = [];
  for (let at: Element | null = element; at !== null && at !== document.body; at = at.parentElement) {
    way.unshift(`${at.localName}:nth-child(${[...(at.parentElement?.children ?? [])].indexOf(at) + 1})`);
  }
  const said = (element.getAttribute("aria-label") ?? element.textContent ?? "").trim().slice(0, 40);
  // A control that is hidden behind its label shows the focus there.
  const own = [element, ...(element instanceof HTMLInputElement ? (element.labels ?? []) : [])];
  const seen = own.some((one) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
    return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
  });
  return { at: `${way.join(">")} ${said}`, seen };
}
