import type { WriteReport } from '@waymark/event-queue';

/** The report of a writer about a batch of clicks that it has stored. */
export function aBatch(overrides: Partial<WriteReport> = {}): WriteReport {
  const share = { events: 250, lagMsMin: 20, lagMsMax: 400 };
  return {
    kind: 'click',
    outcome: 'stored',
    rows: 250,
    bytes: 50_000,
    attempts: 1,
    gatherMs: 100,
    insertMs: 30,
    storedMs: Date.now(),
    workspaces: new Map([['11', share]]),
    ...overrides,
  };
}
