import { type Html, html } from '@waymark/http-kit';
import type { ComponentStatus } from '@waymark/observability';

/** The label of each state, and the words before and after its age. */
const STATE_TEXTS = {
  up: ['Up', 'for', ''],
  down: ['Down', 'for', ''],
  restarted: ['Restarted', '', 'ago'],
  unknown: ['Unknown', 'for', ''],
} as const;

/** Timestamps in a detail: `at` and `last work` for a moment, `since` for the start of a period. */
const TIMES = /(at |last work |since )(\d{4}-\d\d-\d\dT[\d:.]+Z)/;

/** A time of day in UTC, which the script of the page replaces by its age. */
const ageHtml = (time: string) => html`<time datetime="${time}">${time.slice(11, 19)}</time>`;

/** A detail with its timestamps replaced by ages: `since …` becomes `for …`, the others become `… ago`. */
function detailHtml(detail: string): Html {
  const [before, word, time, after] = detail.split(new RegExp(`${TIMES.source}(.*)$`, 's'));
  if (word === undefined || time === undefined) return html`${detail}`;
  const age = word === 'since ' ? html`for ${ageHtml(time)}` : html`${word === 'at ' ? '' : word}${ageHtml(time)} ago`;
  return html`${before}${age}${detailHtml(after ?? '')}`;
}

function componentHtml({ component, state, since, detail }: ComponentStatus): Html {
  const time = new Date(since).toISOString();
  const [label, before, after] = STATE_TEXTS[state];
  const text = detail === '' ? undefined : html`<p class="detail">${detailHtml(detail)}</p>`;
  return html`<li data-component="${component}" data-state="${state}"><h3>${component}</h3><p class="state"><span class="mark" aria-hidden="true"></span>${label} <span class="since">${before} ${ageHtml(time)} ${after}</span></p>${text}</li>`;
}

/** The list of components. The page's script fills in the ages, from the clock of the browser. */
export function componentsHtml(statuses: readonly ComponentStatus[]): string {
  return html`${statuses.map(componentHtml)}`.text;
}

/**
 * A one-line summary for screen readers, which read it out at each change: without details, such as the time of the last work, which changes
 * with every heartbeat.
 */
export function componentsSummary(statuses: readonly ComponentStatus[]): string {
  const notUp = statuses.filter(({ state }) => state !== 'up');
  if (notUp.length === 0) return 'All components are up.';
  const timeOf = (since: number) => `${new Date(since).toISOString().slice(11, 19)} UTC`;
  return notUp.map(({ component, state, since }) => `${component} ${state}: ${timeOf(since)}.`).join(' ');
}
