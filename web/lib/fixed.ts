/** Why the rate if fixed of a diagnosis and that of a cache simulation are not the same figure; wherever one is shown. */
export const TWO_WAYS_TO_ADD =
  "Call sites adds up the gain of each finding; Capacity simulates all fixes together, so that its figure may differ.";
