export interface Place {
  gap: number;
  x: number;
  y: number;
}

// Text runs in lines: being in the right line matters more than being far along it.
const LINE_WEIGHT = 6;

/** The gap nearest to a point, null where there is none. */
export function nearest(places: readonly Place[], x: number, y: number): number | null {
  let found: number | null = null;
  let least = Infinity;
  for (const place of places) {
    const distance = Math.hypot(place.x - x, LINE_WEIGHT * (place.y - y));
    if (distance < least) {
      least = distance;
      found = place.gap;
    }
  }
  return found;
}
