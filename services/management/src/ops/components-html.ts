import { type Html, html } from '@waymark/http-kit';
import type { ComponentStatus } from '@waymark/observability';

/** Words before and behind the time for which a component has been so. */
const STATE_WORDS = {
  up: ['Up', 'for', ''],
  down: ['Down', 'for', ''],
  restarted: ['Restarted', '', 'ago'],
  unknown: ['Unknown', 'for', ''],
} as const;

/** Times in a detail: of something that happened, and of something that has been so since. */
const TIMES = /(at |last work |since )(\d{4}-\d\d-\d\dT[\d:.]+Z)/;

/** An age that the page keeps up to date. */
const ageHtml = (time: string) => html`<time datetime="${time}">${time.slice(11, 19)}</time>`;

/** People read ages more easily than times. */
function detailHtml(detail: string): Html {
  const [before, word, time, behind] = detail.split(new RegExp(`${TIMES.source}(.*)$`, 's'));
  if (word === undefined || time === undefined) return html`${detail}`;
  const age = word === 'since ' ? html`for ${ageHtml(time)}` : html`${word === 'at ' ? '' : word}${ageHtml(time)} ago`;
  return html`${before}${age}${detailHtml(behind ?? '')}`;
}

function componentHtml({ component, state, since, detail }: ComponentStatus): Html {
  const time = new Date(since).toISOString();
  const [word, before, behind] = STATE_WORDS[state];
  const text = detail === '' ? undefined : html`<p class="detail">${detailHtml(detail)}</p>`;
  return html`<li data-component="${component}" data-state="${state}"><h3>${component}</h3><p class="state"><span class="mark" aria-hidden="true"></span>${word} <span class="since">${before} ${ageHtml(time)} ${behind}</span></p>${text}</li>`;
}

/** The strip of components. Ages are filled in by the page, which knows the time. */
export function componentsHtml(statuses: readonly ComponentStatus[]): string {
  return html`${statuses.map(componentHtml)}`.text;
}

/** One line for those who do not see the strip. */
export function componentsSummary(statuses: readonly ComponentStatus[]): string {
  const unwell = statuses.filter(({ state }) => state !== 'up');
  if (unwell.length === 0) return 'All components are up.';
  return unwell.map(({ component, state, detail }) => `${component} ${state}${detail && `: ${detail}`}.`).join(' ');
}
