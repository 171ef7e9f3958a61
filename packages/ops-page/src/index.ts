export { amountText, UNITS, type Unit } from './amounts.js';
export type { OpsAnswer, PlotAnswer, PlotSeries, Tone } from './ops-answer.js';
export { pageFiles } from './page-files.js';
