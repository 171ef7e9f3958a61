import type { Tone } from './ops-answer.js';

/** The style sheet's colours, for drawing on a canvas; they differ between the light and the dark colour scheme. */
export interface Colours {
  readonly text: string;
  readonly grid: string;
  readonly surface: string;
  of(tone: Tone): string;
}

/** Reads the colours of the current colour scheme. */
export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return { text: read('muted'), grid: read('grid'), surface: read('surface'), of: (tone) => read(`tone-${tone}`) };
}

/** Calls `changed` whenever the colour scheme changes between light and dark. */
export function onColourScheme(changed: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
}
