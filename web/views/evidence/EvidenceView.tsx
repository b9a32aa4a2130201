"use client";

export function EvidenceView() {
  return <h1>Evidence</h1>;
}
