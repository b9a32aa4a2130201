"use client";

export function DiffView() {
  return <h1>Prompt diff</h1>;
}
