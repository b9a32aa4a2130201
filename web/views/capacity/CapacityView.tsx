"use client";

export function CapacityView() {
  return <h1>Capacity</h1>;
}
