export { startErasures } from './erasures.js';
export { lateRowsOf } from './late-rows-access.js';
