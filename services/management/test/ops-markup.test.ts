import { describe, expect, test } from 'vitest';
import { componentsHtml, componentsSummary } from '../src/ops/components-html.js';
import { PANEL_GROUPS } from '../src/ops/panel-groups.js';
import type { PlotPanel } from '../src/ops/panel-types.js';
import { plotPoints } from '../src/ops/plot-points.js';
import { OPS_RANGES, pointsOf } from '../src/ops/range.js';
import { tableHtml } from '../src/ops/table-html.js';

const panels = PANEL_GROUPS.flatMap((group) => group.panels);
const writer = {
  component: 'writer',
  state: 'restarted',
  since: Date.parse('2026-11-21T10:00:02Z'),
  detail: 'vm:7 was killed at 2026-11-21T10:00:00.000Z; last work 2026-11-21T10:00:05.000Z',
  processes: 1,
  starts: 2,
  kills: 1,
} as const;

describe('components', () => {
  test('show details with times that the page updates as ages', () => {
    expect(componentsHtml([writer])).toContain(
      'vm:7 was killed <time datetime="2026-11-21T10:00:00.000Z">10:00:00</time> ago; ' +
        'last work <time datetime="2026-11-21T10:00:05.000Z">10:00:05</time> ago',
    );
    const missing = {
      ...writer,
      state: 'down',
      detail: 'no heartbeat of vm:7 since 2026-11-21T10:00:00.000Z',
    } as const;
    expect(componentsHtml([missing])).toContain('vm:7 for <time ');
  });

  test('escape all texts', () => {
    expect(componentsHtml([{ ...writer, component: '"<b>', detail: '<script>' }])).not.toMatch(/<b>|<script>/);
  });

  test('are summarised in a line that names those that are not up', () => {
    expect(componentsSummary([{ ...writer, state: 'up' }])).toBe('All components are up.');
    expect(componentsSummary([writer, { ...writer, component: 'redis', state: 'down' }])).toBe(
      'writer restarted: 10:00:02 UTC. redis down: 10:00:02 UTC.',
    );
  });
});

describe('panels', () => {
  test('have unique ids', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });

  test.each(OPS_RANGES)('have complete, evenly spaced points over $label', (range) => {
    const now = Date.parse('2026-11-21T10:00:04Z');
    const points = pointsOf(range, now);
    expect(points).toHaveLength(range.seconds / range.step);
    expect((points.at(-1) ?? 0) + range.step).toBeLessThan(now / 1000);
    expect(points.every((at, index) => at === (points[0] ?? 0) + index * range.step)).toBe(true);
  });

  const plot = panels.find(({ id }) => id === 'deliveries') as PlotPanel;

  test('show gaps for unknown values, and 0 for events that did not happen', () => {
    expect(plotPoints(plot, [60, 120], [])).toEqual({ times: [60, 120], series: [] });
    expect(plotPoints(plot, [60, 120], [[120, 'delivered', 4]])).toEqual({
      times: [60, 120],
      series: [{ name: 'delivered', tone: 'second', values: [0, 4] }],
    });
  });

  test('ignore rows between the points, and unknown series', () => {
    const rows = [
      [61, 'delivered', 1],
      [60, 'lost', 1],
    ] as const;
    expect(plotPoints(plot, [60], rows).series).toEqual([]);
  });

  test('show a text for an empty table, and escape values', () => {
    const table = panels.find(({ kind }) => kind === 'table');
    if (table?.kind !== 'table') throw new Error('there is no table');
    expect(tableHtml(table, [])).toBe(`<p class="empty">${table.empty}</p>`);
    const shown = tableHtml(table, [['<i>', 1, 0, 1500, null, 1_795_000_000_000]]);
    expect(shown).toContain('&lt;i&gt;');
    expect(shown).toContain('1.5 s');
  });
});
