import { createRequire } from 'node:module';

const uplot = createRequire(import.meta.url).resolve('uplot');

/** Modules that the browser loads, compiled; they import nothing but each other. */
const MODULES = ['main', 'amounts', 'axes', 'clock', 'colours', 'panels', 'plot', 'refresher'];

/** What the page loads, by file name, and where it is on disk. */
export const pageFiles: ReadonlyMap<string, URL> = new Map([
  ['icon.svg', new URL('../icon.svg', import.meta.url)],
  ['ops.css', new URL('../ops.css', import.meta.url)],
  ['panels.css', new URL('../panels.css', import.meta.url)],
  ['uplot.css', new URL('uPlot.min.css', `file://${uplot}`)],
  ['uplot.js', new URL('uPlot.iife.min.js', `file://${uplot}`)],
  // Compiled, also where this file is run from its source.
  ...MODULES.map((name) => [`${name}.js`, new URL(`../dist/${name}.js`, import.meta.url)] as const),
]);
