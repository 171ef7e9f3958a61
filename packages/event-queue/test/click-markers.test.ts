import { describe, expect, it } from 'vitest';
import { CLICK_CLAIM_MS, clickClaimValue, createClickMarkers } from '../src/click-markers.js';

describe('markers of click batches', () => {
  it('are never dealt out twice, whatever the clock does', () => {
    let time = 100 * CLICK_CLAIM_MS;
    const next = createClickMarkers(() => time);
    const values: string[] = [];
    for (const step of [0, 0, CLICK_CLAIM_MS, 0, -3 * CLICK_CLAIM_MS, 0, 0, 5 * CLICK_CLAIM_MS, 0]) {
      time += step;
      values.push(clickClaimValue(next(), 'id'));
    }
    expect(new Set(values).size).toBe(values.length);
  });

  it('start at bit 0 in each hour, so that a group stays small', () => {
    let time = 100 * CLICK_CLAIM_MS;
    const next = createClickMarkers(() => time);
    expect([next().bit, next().bit]).toEqual([0, 1]);
    time += CLICK_CLAIM_MS;
    expect(next().bit).toBe(0);
  });

  it('of different processes do not meet', () => {
    const groups = Array.from({ length: 100 }, () => createClickMarkers(() => 0)().group);
    expect(new Set(groups).size).toBe(100);
  });
});
