"use client";

import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { go } from "@/lib/url";

/** A link that stays in the open page where it leads there; else an ordinary one. */
export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const there = new URL(href, window.location.href);
    if (there.origin !== window.location.origin || there.pathname !== window.location.pathname) return;
    if (there.hash !== "") return;
    event.preventDefault();
    go(there.pathname + there.search);
  };
  // The text of the link comes with `rest`.
  // eslint-disable-next-line jsx-a11y/anchor-has-content
  return <a href={href} onClick={follow} {...rest} />;
}
