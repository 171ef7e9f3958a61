import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventCounts, EventReport } from '@waymark/import';
import { expect, it, onTestFinished } from 'vitest';
import { withEventReport } from '../../src/import/report-files.js';

const NO_EVENTS: EventCounts = {
  ...{ read: 0, clicks: 0, leads: 0, sales: 0, customers: 0 },
  ...{ repeated: 0, tooOld: 0, bots: 0, rejected: 0 },
};

function aReport() {
  const dir = mkdtempSync(join(tmpdir(), 'report-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'a-events-rejected.csv');
  return {
    path,
    lines: () => readFileSync(path, 'utf8').split('\r\n').slice(1, -1),
    run: (work: (report: EventReport) => Promise<unknown>) =>
      withEventReport(join(dir, 'a'), async (report) => {
        await work(report);
        return NO_EVENTS;
      }),
  };
}

const reject = (report: EventReport, row: number) => report.rejected({ row, record: {}, reason: 'no' });

/** The first run of an import, which ends behind a batch with a rejected event. @returns the mark of its report */
async function interrupted({ run }: ReturnType<typeof aReport>): Promise<string | undefined> {
  let mark: string | undefined;
  const ending = run(async (report) => {
    await reject(report, 1);
    mark = await report.save();
    await reject(report, 2);
    throw new Error('the source is away');
  });
  await expect(ending).rejects.toThrow('the source is away');
  return mark;
}

it('a continued import of events adds to its own report', async () => {
  const report = aReport();
  const mark = await interrupted(report);
  const { reports } = await report.run(async (again) => {
    await again.continued({ ...NO_EVENTS, rejected: 1 }, mark);
    expect(await again.save()).toBe(undefined);
    await reject(again, 3);
  });
  expect(reports).toEqual([{ path: report.path, rows: 2 }]);
  // Row 2 was rejected behind the last batch that was stored.
  expect(report.lines()).toEqual(['1,no,{}', '2,no,{}', '3,no,{}']);
});

it.each(['', 'rejectedRow,rejectedReason\r\n9,the row of another import,{}\r\n'.repeat(20)])(
  'a continued import of events adds to no report of another import',
  async (other) => {
    const report = aReport();
    const mark = await interrupted(report);
    writeFileSync(report.path, other);
    const { reports } = await report.run(async (again) => {
      await again.continued({ ...NO_EVENTS, rejected: 1 }, mark);
      await reject(again, 3);
    });
    expect(reports).toEqual([{ path: report.path, rows: 1 }]);
    expect(report.lines()).toEqual(['3,no,{}']);
  },
);
