/** Colours of the screen. Kept apart from what pipes need as well: the library looks at the terminal as soon as it is loaded. */
import picocolors from "picocolors";

export type Colours = ReturnType<typeof picocolors.createColors>;

export function coloursOf(traits: { colour: boolean }): Colours {
  return picocolors.createColors(traits.colour);
}

/** Plain below two thirds, amber above, red from 90 %. */
export function contextColour(share: number, colours: Colours): (text: string) => string {
  if (share >= 0.9) return colours.red;
  return share >= 2 / 3 ? colours.yellow : (text) => text;
}
