"use client";

export function CallSitesView() {
  return <h1>Call sites</h1>;
}
