import { amountText, type Unit } from './amounts.js';
import type { TimeSpan } from './axes.js';
import { momentText, timeText } from './clock.js';
import type { Colours } from './colours.js';
import { presentValue } from './latest.js';
import type { OpsAnswer, PlotAnswer, PlotSeries } from './ops-answer.js';
import { Plot } from './plot.js';

/** A panel of the page. It keeps showing the last data that could be read. */
export interface Panel {
  /** Shows the panel's part of an answer for a range. @param span the time axis of plots */
  show(answer: OpsAnswer, range: string, span: TimeSpan): void;
  /** Empties the panel if it shows data of another range. */
  keepOnly(range: string): void;
  recolour(colours: Colours): void;
}

function child<Element extends HTMLElement>(panel: HTMLElement, name: string): Element {
  const found = panel.querySelector<Element>(`.${name}`);
  if (found === null) throw new Error(`the panel ${panel.id} has no ${name}`);
  return found;
}

function largest({ values }: PlotSeries): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** What a panel shows: the text below it says why its data could not be read, and how old the data is that it still shows. */
class Shown {
  readonly #panel: HTMLElement;
  readonly #note: HTMLElement;
  readonly #empty: () => void;
  #range: string | undefined;
  #readAtMs = 0;

  /** @param empty removes the data from the panel */
  constructor(panel: HTMLElement, empty: () => void) {
    this.#panel = panel;
    this.#note = child(panel, 'note');
    this.#empty = empty;
  }

  /** @param reason why the data could not be read; undefined if it was */
  update(range: string, reason: string | undefined): void {
    if (reason === undefined) {
      this.#range = range;
      this.#readAtMs = Date.now();
    } else {
      this.keepOnly(range);
    }
    const asOf = this.#range === undefined ? '' : ` Shown as of ${timeText(this.#readAtMs)}.`;
    this.#note.textContent = reason === undefined ? '' : `${reason}${asOf}`;
    this.#note.hidden = reason === undefined;
    this.#panel.toggleAttribute('data-stale', reason !== undefined);
  }

  keepOnly(range: string): void {
    if (this.#range === undefined || this.#range === range) return;
    this.#range = undefined;
    this.#empty();
  }
}

/** The legend of a plot, which is also its text for screen readers: a table of the series with their present and largest values. */
class Legend {
  readonly #body: HTMLTableSectionElement;
  readonly #moment: HTMLElement;
  readonly #unit: Unit;

  constructor(panel: HTMLElement, unit: Unit) {
    this.#body = child(panel, 'legend-body');
    this.#moment = child(panel, 'legend-moment');
    this.#unit = unit;
  }

  /** Shows the values at an index of `times`, or the present ones for null. */
  show({ times, series }: PlotAnswer, index: number | null): void {
    const at = index === null ? undefined : times[index];
    this.#moment.textContent = at === undefined ? 'now' : momentText(at);
    const shownValue = ({ values }: PlotSeries) =>
      index === null ? presentValue(times, values) : (values[index] ?? null);
    const rows = series.map((one) => this.#row(one, shownValue(one)));
    this.#body.replaceChildren(...rows);
  }

  #row(series: PlotSeries, value: number | null): HTMLTableRowElement {
    const row = document.createElement('tr');
    const name = document.createElement('th');
    name.scope = 'row';
    name.className = `tone-${series.tone}`;
    name.textContent = series.name;
    row.append(name, this.#cell(value), this.#cell(largest(series)));
    return row;
  }

  #cell(value: number | null): HTMLTableCellElement {
    const cell = document.createElement('td');
    cell.textContent = value === null ? '–' : amountText(value, this.#unit);
    return cell;
  }
}

/** Moves the crosshair of a plot with the arrow keys, and removes it with Escape. */
function listenToKeys(host: HTMLElement, plot: Plot): void {
  const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, Home: -100_000, End: 100_000 };
  host.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') plot.hideCrosshair();
    const by = steps[event.key];
    if (by === undefined || !plot.step(by)) return;
    event.preventDefault();
  });
}

function plotPanel(panel: HTMLElement, colours: Colours): Panel {
  const { id } = panel;
  const unit = panel.dataset.unit as Unit;
  const host = child(panel, 'plot');
  const [figure, empty] = [child(panel, 'figure'), child(panel, 'empty')];
  const legend = new Legend(panel, unit);
  let drawn: PlotAnswer | undefined;
  const shown = new Shown(panel, () => {
    drawn = undefined;
    figure.hidden = true;
    empty.hidden = true;
  });
  let moment: number | null = null;
  const plot = new Plot(
    {
      host,
      unit,
      onMoment(index) {
        moment = index;
        if (drawn !== undefined) legend.show(drawn, index);
      },
    },
    colours,
  );
  listenToKeys(host, plot);
  return {
    show({ plots, failures }, range, span) {
      const answer = plots[id];
      shown.update(range, failures[id]);
      if (answer === undefined) return;
      drawn = answer;
      const isEmpty = answer.series.every(({ values }) => values.every((value) => value === null));
      figure.hidden = isEmpty;
      empty.hidden = !isEmpty;
      panel.removeAttribute('aria-busy');
      if (isEmpty) return;
      plot.show(answer, span);
      legend.show(answer, moment);
    },
    keepOnly: (range) => shown.keepOnly(range),
    recolour: (next) => plot.recolour(next),
  };
}

function tablePanel(panel: HTMLElement): Panel {
  const { id } = panel;
  const content = child(panel, 'content');
  let drawn = '';
  const shown = new Shown(panel, () => {
    drawn = '';
    content.replaceChildren();
  });
  return {
    show({ tables, failures }, range) {
      const markup = tables[id];
      shown.update(range, failures[id]);
      if (markup === undefined) return;
      panel.removeAttribute('aria-busy');
      // Assigned only if it has changed, because assigning would clear the user's selection.
      if (markup !== drawn) {
        content.innerHTML = markup;
        for (const time of content.querySelectorAll('time'))
          time.textContent = momentText(Date.parse(time.dateTime) / 1000);
      }
      drawn = markup;
    },
    keepOnly: (range) => shown.keepOnly(range),
    recolour() {},
  };
}

/** Creates an object for each panel of the page. */
export function findPanels(colours: Colours): Panel[] {
  const panels = [...document.querySelectorAll<HTMLElement>('section.panel')];
  return panels.map((panel) => (panel.dataset.kind === 'plot' ? plotPanel(panel, colours) : tablePanel(panel)));
}
