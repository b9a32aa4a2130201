// Gridlines fall on block boundaries: on every one, or on every second, fourth, eighth, ...

/** Tokens between gridlines at least `apart` device pixels from each other: a block times a power of two. */
export function gridTokens(blockSize: number, perToken: number, apart: number): number {
  let step = blockSize;
  while (step * perToken < apart) step *= 2;
  return step;
}
