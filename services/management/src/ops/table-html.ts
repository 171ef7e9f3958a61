import { type Html, html } from '@waymark/http-kit';
import { amountText } from '@waymark/ops-page';
import type { CellKind, TablePanel } from './panel-types.js';

/** A row from ClickHouse, with 64-bit integers as numbers or text. */
export type TableRow = readonly (string | number | null)[];

const BAR_WIDTH_PX = 72;

/** A bar with the percentage beside it. */
function barCell(share: number): Html {
  const width = Math.round(Math.min(1, Math.max(0, share)) * BAR_WIDTH_PX);
  return html`<td class="number"><svg class="bar" width="${BAR_WIDTH_PX}" height="8" aria-hidden="true"><rect width="${BAR_WIDTH_PX}" height="8" rx="2"/><rect class="filled" width="${width}" height="8" rx="2"/></svg> <span class="percent">${Math.round(share * 100)} %</span></td>`;
}

function cellHtml(kind: CellKind, value: string | number | null): Html {
  if (value === null || value === '') return html`<td class="${kind === 'text' ? 'name' : 'number'}">&ndash;</td>`;
  switch (kind) {
    case 'text':
      return html`<td class="name">${value}</td>`;
    case 'time': {
      const time = new Date(Number(value)).toISOString();
      return html`<td class="number"><time datetime="${time}">${time.slice(0, 16).replace('T', ' ')}</time></td>`;
    }
    case 'bar':
      return barCell(Number(value));
    default:
      return html`<td class="number">${amountText(Number(value), kind)}</td>`;
  }
}

/** The content of a table panel. */
export function tableHtml({ columns, title, empty }: TablePanel, rows: readonly TableRow[]): string {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`.text;
  const classOf = (cell: CellKind) => (cell === 'text' ? 'name' : 'number');
  const head = columns.map((column) => html`<th scope="col" class="${classOf(column.cell)}">${column.title}</th>`);
  const body = rows.map(
    (row) => html`<tr>${columns.map(({ cell }, index) => cellHtml(cell, row[index] ?? null))}</tr>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title}"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`
    .text;
}
