import type { Tone } from './ops-answer.js';

/** Colours that are drawn on canvases, as the style sheet has them for light and dark. */
export interface Colours {
  readonly text: string;
  readonly grid: string;
  readonly surface: string;
  of(tone: Tone): string;
}

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return { text: read('muted'), grid: read('grid'), surface: read('surface'), of: (tone) => read(`tone-${tone}`) };
}

/** Calls back whenever the system turns from light to dark or back. */
export function onColourScheme(changed: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
}
