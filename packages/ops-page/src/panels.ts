import { amountText, type Unit } from './amounts.js';
import type { TimeSpan } from './axes.js';
import { momentText, timeText } from './clock.js';
import type { Colours } from './colours.js';
import { presentValue } from './latest.js';
import type { OpsAnswer, PlotAnswer, PlotSeries } from './ops-answer.js';
import { Plot } from './plot.js';

/** A panel of the page. It keeps showing the last data that could be read. */
export interface Panel {
  readonly id: string;
  /** Shows the panel's part of an answer. @param span the time axis of plots */
  show(answer: OpsAnswer, span: TimeSpan): void;
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

/** Creates a function that shows below a panel why its data could not be read, and how old the data is that the panel still shows. */
function createNote(panel: HTMLElement): (reason: string | undefined) => void {
  const note = child(panel, 'note');
  let readAtMs: number | undefined;
  return (reason) => {
    if (reason === undefined) readAtMs = Date.now();
    const asOf = readAtMs === undefined ? '' : ` Shown as of ${timeText(readAtMs)}.`;
    note.textContent = reason === undefined ? '' : `${reason}${asOf}`;
    note.hidden = reason === undefined;
    panel.toggleAttribute('data-stale', reason !== undefined);
  };
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

/** Moves the crosshair of a plot with the arrow keys. */
function listenToKeys(host: HTMLElement, plot: Plot): void {
  const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, Home: -100_000, End: 100_000 };
  host.addEventListener('keydown', (event) => {
    const by = steps[event.key];
    if (by === undefined || plot.step(by) === undefined) return;
    event.preventDefault();
  });
}

function plotPanel(panel: HTMLElement, colours: Colours): Panel {
  const { id } = panel;
  const unit = panel.dataset.unit as Unit;
  const host = child(panel, 'plot');
  const [figure, empty] = [child(panel, 'figure'), child(panel, 'empty')];
  const [legend, note] = [new Legend(panel, unit), createNote(panel)];
  let shown: PlotAnswer | undefined;
  let moment: number | null = null;
  const plot = new Plot(
    {
      host,
      unit,
      onMoment(index) {
        moment = index;
        if (shown !== undefined) legend.show(shown, index);
      },
    },
    colours,
  );
  listenToKeys(host, plot);
  return {
    id,
    show({ plots, failures }, span) {
      const answer = plots[id];
      note(failures[id]);
      if (answer === undefined) return;
      shown = answer;
      const isEmpty = answer.series.every(({ values }) => values.every((value) => value === null));
      figure.hidden = isEmpty;
      empty.hidden = !isEmpty;
      panel.removeAttribute('aria-busy');
      if (isEmpty) return;
      plot.show(answer, span);
      legend.show(answer, moment);
    },
    recolour: (next) => plot.recolour(next),
  };
}

function tablePanel(panel: HTMLElement): Panel {
  const { id } = panel;
  const [content, note] = [child(panel, 'content'), createNote(panel)];
  let shown = '';
  return {
    id,
    show({ tables, failures }) {
      const markup = tables[id];
      note(failures[id]);
      if (markup === undefined) return;
      panel.removeAttribute('aria-busy');
      // Assigned only if it has changed, because assigning would clear the user's selection.
      if (markup !== shown) content.innerHTML = markup;
      shown = markup;
    },
    recolour() {},
  };
}

/** Creates an object for each panel of the page. */
export function findPanels(colours: Colours): Panel[] {
  const panels = [...document.querySelectorAll<HTMLElement>('section.panel')];
  return panels.map((panel) => (panel.dataset.kind === 'plot' ? plotPanel(panel, colours) : tablePanel(panel)));
}
