import { describe, expect, it } from 'vitest';
import { createMarkerSequence, markerKey } from '../../src/spool/batch-markers.js';

const HOUR_MS = 3_600_000;

describe('markers of click batches', () => {
  it('are never allocated twice, whatever the clock does', () => {
    let time = 100 * HOUR_MS;
    const next = createMarkerSequence(() => time);
    const values: string[] = [];
    for (const step of [0, 0, HOUR_MS, 0, -3 * HOUR_MS, 0, 0, 5 * HOUR_MS, 0]) {
      time += step;
      const marker = next();
      values.push(`${markerKey(marker)} ${marker.bit}`);
    }
    expect(new Set(values).size).toBe(values.length);
  });

  it('start at bit 0 in each hour, so that a key stays small', () => {
    let time = 100 * HOUR_MS;
    const next = createMarkerSequence(() => time);
    expect([next().bit, next().bit]).toEqual([0, 1]);
    time += HOUR_MS;
    expect(next().bit).toBe(0);
  });

  it('of different processes have different keys', () => {
    const groups = Array.from({ length: 100 }, () => createMarkerSequence(() => 0)().group);
    expect(new Set(groups).size).toBe(100);
  });
});
