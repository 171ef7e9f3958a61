export { amountText, type Unit } from './amounts.js';
export type { OpsAnswer, PlotAnswer, Tone } from './ops-answer.js';
export { pageFiles } from './page-files.js';
