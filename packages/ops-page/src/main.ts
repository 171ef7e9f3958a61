import { visibleSpan } from './axes.js';
import { ageText, timeText } from './clock.js';
import { onColourScheme, readColours } from './colours.js';
import type { OpsAnswer } from './ops-answer.js';
import { findPanels } from './panels.js';
import { Refresher } from './refresher.js';

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

const [strip, status, summary, pause] = ['components', 'status', 'summary', 'pause'].map(element) as [
  HTMLElement,
  HTMLElement,
  HTMLElement,
  HTMLElement,
];
const panels = findPanels(readColours());
const rangeLinks = [...document.querySelectorAll<HTMLAnchorElement>('#ranges a')];

/** When the last response arrived, by the browser's clock. */
let answeredAtMs: number | undefined;
/** How far the server's clock is ahead of the browser's. */
let clockAheadMs = 0;
/** Why the last request failed; undefined if it did not. */
let failure: string | undefined;

/** The chosen range. Each answer is for this range, because a change of the range aborts the request that is under way. */
function currentRange(): string {
  return rangeLinks.find((link) => link.ariaCurrent === 'true')?.dataset.range ?? '';
}

/** Ages stop while the page is paused, because the page does not receive later heartbeats and work of the components. */
function showAges(): void {
  const at = refresher.isPaused && answeredAtMs !== undefined ? answeredAtMs : Date.now();
  for (const time of strip.querySelectorAll('time')) {
    time.textContent = ageText((at + clockAheadMs - Date.parse(time.dateTime)) / 1000);
  }
}

function showStatus(): void {
  const problem = failure ?? (refresher.isPaused ? 'Paused.' : undefined);
  const asOf = answeredAtMs === undefined ? '' : ` Values are of ${timeText(answeredAtMs)}.`;
  const text = problem === undefined ? `Updated ${timeText(answeredAtMs ?? Date.now())}` : `${problem}${asOf}`;
  document.documentElement.toggleAttribute('data-stale', problem !== undefined);
  if (status.textContent !== text) status.textContent = text;
}

function showAnswer(answer: OpsAnswer): void {
  answeredAtMs = Date.now();
  clockAheadMs = answer.nowMs - answeredAtMs;
  failure = undefined;
  if (strip.dataset.shown !== answer.components) {
    strip.innerHTML = answer.components;
    strip.dataset.shown = answer.components;
  }
  // Set only if it has changed, because screen readers announce every assignment.
  if (summary.textContent !== answer.summary) summary.textContent = answer.summary;
  const span = visibleSpan(Object.values(answer.plots)) ?? [answer.nowMs / 1000 - 3600, answer.nowMs / 1000];
  for (const panel of panels) panel.show(answer, currentRange(), span);
  showAges();
  showStatus();
}

const refresher = new Refresher({
  address: () => `/ops/data?range=${currentRange()}`,
  onAnswer: showAnswer,
  onFailure(reason) {
    failure = reason;
    for (const panel of panels) panel.keepOnly(currentRange());
    showStatus();
  },
});

for (const link of rangeLinks) {
  link.addEventListener('click', (event) => {
    // The browser follows the link, and opens its dialog for the key.
    if (refresher.isEnded) return;
    event.preventDefault();
    for (const other of rangeLinks) other.ariaCurrent = String(other === link);
    history.replaceState(null, '', link.href);
    void refresher.refresh();
  });
}

pause.addEventListener('click', () => {
  refresher.isPaused = !refresher.isPaused;
  pause.ariaPressed = String(refresher.isPaused);
  showAges();
  showStatus();
});

onColourScheme(() => {
  const colours = readColours();
  for (const panel of panels) panel.recolour(colours);
});
setInterval(showAges, 1000);
void refresher.refresh();
