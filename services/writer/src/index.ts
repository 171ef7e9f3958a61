export { type ErasuresOptions, startErasures } from './erasures.js';
export { lateRowsOf } from './late-rows.js';
export { startWriter } from './writer-service.js';
