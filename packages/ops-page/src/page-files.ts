import { createRequire } from 'node:module';

const uplot = createRequire(import.meta.url).resolve('uplot');

/** Compiled modules of the page; they import only one another. */
const MODULES = ['main', 'amounts', 'axes', 'clock', 'colours', 'panels', 'plot', 'refresher'];

/** The files that the page loads: name and location on disk. */
export const pageFiles: ReadonlyMap<string, URL> = new Map([
  ['icon.svg', new URL('../icon.svg', import.meta.url)],
  ['ops.css', new URL('../ops.css', import.meta.url)],
  ['panels.css', new URL('../panels.css', import.meta.url)],
  ['uplot.css', new URL('uPlot.min.css', `file://${uplot}`)],
  ['uplot.js', new URL('uPlot.iife.min.js', `file://${uplot}`)],
  // Always the compiled files, even if this module runs from its source.
  ...MODULES.map((name) => [`${name}.js`, new URL(`../dist/${name}.js`, import.meta.url)] as const),
]);
