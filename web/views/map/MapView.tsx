"use client";

export function MapView() {
  return <h1>Break map</h1>;
}
