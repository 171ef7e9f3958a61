import { rowKey, rowFault } from '../src/row-check.js';
import { aClick } from '@waymark/test-kit';
import { createEventId } from '@waymark/contract';
const text = Array.from({ length: 20000 }, () => { const ms = Date.now(); return JSON.stringify(aClick({ clickId: createEventId(ms), timestampMs: ms })); }).join('\n');
for (let i = 0; i < 10; i++) { const t = performance.now(); const rows = text.split('\n'); const t1 = performance.now(); let bad = 0; const now = Date.now(); for (const r of rows) if (rowFault(rowKey(r), now)) bad++; console.log('split', ((t1 - t) / 20).toFixed(3), 'check', ((performance.now() - t1) / 20).toFixed(3), 'us/row', bad); }
