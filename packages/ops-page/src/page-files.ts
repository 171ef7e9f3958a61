import { createRequire } from 'node:module';

const uplot = createRequire(import.meta.url).resolve('uplot');

/** Names of the compiled modules that the page loads. They import only each other. */
const MODULES = ['main', 'amounts', 'axes', 'clock', 'colours', 'latest', 'panels', 'plot', 'refresher'];

/** The files that the page loads, by name, with their locations on disk. */
export const pageFiles: ReadonlyMap<string, URL> = new Map([
  ['icon.svg', new URL('../icon.svg', import.meta.url)],
  ['ops.css', new URL('../ops.css', import.meta.url)],
  ['panels.css', new URL('../panels.css', import.meta.url)],
  ['uplot.css', new URL('uPlot.min.css', `file://${uplot}`)],
  ['uplot.js', new URL('uPlot.iife.min.js', `file://${uplot}`)],
  // The compiled modules are in `dist` also when this module runs from `src`.
  ...MODULES.map((name) => [`${name}.js`, new URL(`../dist/${name}.js`, import.meta.url)] as const),
]);
