"use client";

import { type RefObject, useEffect, useState } from "react";

/** The width of an element in pixels, kept up to date; `fallback` until it is known. */
export function useWidth(of: RefObject<Element | null>, fallback = 800): number {
  const [width, setWidth] = useState(fallback);
  useEffect(() => {
    const element = of.current;
    if (element === null) return;
    const watching = new ResizeObserver((entries) => {
      const seen = entries[0]?.contentRect.width ?? 0;
      if (seen > 0) setWidth(Math.floor(seen));
    });
    watching.observe(element);
    return () => watching.disconnect();
  }, [of]);
  return width;
}
