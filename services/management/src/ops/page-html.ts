import { type Html, html } from '@waymark/http-kit';
import type { ComponentStatus } from '@waymark/observability';
import { componentsHtml, componentsSummary } from './components-html.js';
import { PANEL_GROUPS } from './panel-groups.js';
import type { OpsPanel, PlotPanel, TablePanel } from './panel-types.js';
import { OPS_RANGES, type OpsRange } from './range.js';

function plotHtml({ id, title, empty }: PlotPanel): Html {
  return html`<figure class="figure" aria-label="${title}"><div class="plot" tabindex="0" role="img" aria-label="Plot: ${title}. The table below has its values; use the arrow keys to move through them." aria-describedby="${id}-legend"></div>
<table class="legend" id="${id}-legend"><thead><tr><th scope="col" class="visually-hidden">Series</th><th scope="col" class="legend-moment" aria-live="off">now</th><th scope="col">peak</th></tr></thead><tbody class="legend-body"></tbody></table></figure>
<p class="empty" hidden>${empty}</p>`;
}

const tableHtml = (_panel: TablePanel) => html`<div class="content"></div>`;

function panelHtml(panel: OpsPanel): Html {
  const { id, kind, title, about } = panel;
  const unit = panel.kind === 'plot' ? panel.unit : '';
  const counted = panel.kind === 'plot' ? panel.counted : undefined;
  const suffix = counted === undefined ? undefined : html` <span class="unit">${counted}</span>`;
  return html`<section class="panel ${kind}-panel" id="${id}" data-kind="${kind}" data-unit="${unit}" aria-labelledby="${id}-title" aria-busy="true">
<h3 id="${id}-title">${title}${suffix}</h3><p class="about">${about}</p>
${panel.kind === 'plot' ? plotHtml(panel) : tableHtml(panel)}<p class="note" hidden></p></section>`;
}

const rangeLink = ({ id, label }: OpsRange, range: OpsRange) =>
  html`<a href="/ops?range=${id}" data-range="${id}" aria-current="${String(id === range.id)}">${label}</a>`;

/** The page without the content of its panels, which the browser loads from `/ops/data`. */
export function pageHtml(range: OpsRange, statuses: readonly ComponentStatus[]): string {
  const components = componentsHtml(statuses);
  const head = html`<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>Waymark operations</title>
<link rel="icon" href="/ops/assets/icon.svg"><link rel="stylesheet" href="/ops/assets/uplot.css"><link rel="stylesheet" href="/ops/assets/ops.css"><link rel="stylesheet" href="/ops/assets/panels.css"><script src="/ops/assets/uplot.js" defer></script><script type="module" src="/ops/assets/main.js"></script>`;
  const header = html`<header><h1>Waymark <span>operations</span></h1><nav id="ranges" aria-label="Range of time">${OPS_RANGES.map((one) => rangeLink(one, range))}</nav><p class="status"><span id="status">Loading</span><button id="pause" type="button" aria-pressed="false">Pause</button></p><a class="queues" href="/ops/queues">Queues</a></header>`;
  const groups = PANEL_GROUPS.map(
    ({ title, width, panels }) =>
      html`<section class="group"><h2>${title}</h2><div class="panels ${width}">${panels.map(panelHtml)}</div></section>`,
  );
  const body = html`<main><p id="summary" class="visually-hidden" role="status">${componentsSummary(statuses)}</p><h2 class="visually-hidden">Components</h2>`;
  return `<!doctype html><html lang="en"><head>${head.text}</head><body>${header.text}${body.text}<ul id="components">${components}</ul><noscript><p class="empty">The plots need JavaScript.</p></noscript>${html`${groups}`.text}</main></body></html>\n`;
}
