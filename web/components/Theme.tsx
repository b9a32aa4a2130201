"use client";

import { useSyncExternalStore } from "react";
import { Select } from "@/components/Controls";

// public/theme.js applies the choice before anything is painted.

const KEY = "keepwarm:theme";
const CHANGED = "keepwarm:theme";
type Theme = "system" | "light" | "dark";
const OPTIONS: readonly { value: Theme; name: string }[] = [
  { value: "system", name: "theme: system" },
  { value: "light", name: "theme: light" },
  { value: "dark", name: "theme: dark" },
];

function now(): Theme {
  const theme = document.documentElement.dataset.theme;
  return theme === "light" || theme === "dark" ? theme : "system";
}

function subscribe(heard: () => void): () => void {
  window.addEventListener(CHANGED, heard);
  return () => window.removeEventListener(CHANGED, heard);
}

function choose(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // A browser that keeps nothing forgets the choice; the page has it still.
  }
  window.dispatchEvent(new Event(CHANGED));
}

export function ThemeSwitch() {
  const theme = useSyncExternalStore<Theme>(subscribe, now, () => "system");
  return <Select label="Theme" labelHidden options={OPTIONS} value={theme} onChange={choose} />;
}

/** Hear of every change of light and dark: by choice, and by the system. Returns how to stop. */
export function onThemeChange(heard: () => void): () => void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", heard);
  window.addEventListener(CHANGED, heard);
  return () => {
    system.removeEventListener("change", heard);
    window.removeEventListener(CHANGED, heard);
  };
}

/** The colour that a CSS variable of the palette has now, as canvases understand it. */
export function colourOf(variable: string, element: Element = document.documentElement): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${variable})`;
  probe.hidden = true;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
