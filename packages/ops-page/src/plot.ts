import type UPlot from 'uplot';
import { amountText, type Unit } from './amounts.js';
import { scaleTop, TIME_STEPS, type TimeSpan, tickSteps } from './axes.js';
import { tickText } from './clock.js';
import type { Colours } from './colours.js';
import type { PlotAnswer, PlotSeries } from './ops-answer.js';

/** Global variable of the uPlot script, which the page loads before the modules. */
declare const uPlot: typeof UPlot;

const HEIGHT_PX = 148;
const AXIS_FONT = '11px system-ui, sans-serif';
/** All plots share this key, so that their crosshairs move together. */
const SYNC_KEY = 'ops';

export interface PlotOptions {
  /** The element that the plot is drawn in. */
  readonly host: HTMLElement;
  readonly unit: Unit;
  /** Called when the crosshair moves, with its index in `times`; null when no crosshair is shown. */
  readonly onMoment: (index: number | null) => void;
}

/** Indexes of values with gaps on both sides. No line leads to them, so they are drawn as points. */
function isolatedIndexes(values: ArrayLike<number | null | undefined>): number[] {
  const isKnown = (index: number) => typeof values[index] === 'number';
  return Array.from(values, (_, index) => index).filter(
    (index) => isKnown(index) && !isKnown(index - 1) && !isKnown(index + 1),
  );
}

function seriesOptions({ name, tone }: PlotSeries, colours: Colours): UPlot.Series {
  const stroke = colours.of(tone);
  return {
    label: name,
    stroke,
    width: 1.5,
    points: { show: true, size: 4, filter: (plot, index) => isolatedIndexes(plot.data[index] ?? []) },
    spanGaps: false,
    ...(tone === 'limit' ? { dash: [4, 4], width: 1 } : {}),
    ...(tone === 'first' ? { fill: `${stroke}1c` } : {}),
  };
}

function plotOptions(
  { unit, onMoment, host }: PlotOptions,
  series: readonly PlotSeries[],
  colours: Colours,
  span: () => TimeSpan,
): UPlot.Options {
  const axis = { stroke: colours.text, font: AXIS_FONT, ticks: { show: false } };
  return {
    width: host.clientWidth,
    height: HEIGHT_PX,
    padding: [8, 4, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false, setScale: false },
      sync: { key: SYNC_KEY },
      points: { size: 6, width: 1.5, fill: () => colours.surface },
    },
    scales: { x: { time: true, range: () => [...span()] }, y: { range: (_plot, _min, max) => [0, scaleTop(max)] } },
    axes: [
      {
        ...axis,
        size: 26,
        space: 56,
        incrs: [...TIME_STEPS],
        grid: { show: false },
        values: (_plot, ticks, _axis, _space, step) => ticks.map((at) => tickText(at, step)),
      },
      {
        ...axis,
        size: 58,
        space: 24,
        gap: 6,
        incrs: tickSteps(unit),
        grid: { stroke: colours.grid, width: 1 },
        values: (_plot, ticks) => ticks.map((value) => amountText(value, unit)),
      },
    ],
    series: [{}, ...series.map((one) => seriesOptions(one, colours))],
    hooks: { setCursor: [(plot) => onMoment(plot.cursor.idx ?? null)] },
  };
}

/** Changes when the plot needs other lines or colours, not when only values change. */
const seriesKey = ({ series }: PlotAnswer) => series.map(({ name, tone }) => `${tone} ${name}`).join('\n');

/** A plot on a canvas. New data of the same series is drawn on the same canvas. */
export class Plot {
  readonly #options: PlotOptions;
  #plot: UPlot | undefined;
  #key = '';
  #answer: PlotAnswer | undefined;
  #span: TimeSpan = [0, 1];
  #colours: Colours;

  constructor(options: PlotOptions, colours: Colours) {
    this.#options = options;
    this.#colours = colours;
    new ResizeObserver(() => this.#resize()).observe(options.host);
  }

  /** Draws new data. Without a visible host, the plot is drawn when the host becomes visible. */
  show(answer: PlotAnswer, span: TimeSpan): void {
    this.#answer = answer;
    this.#span = span;
    const data = [answer.times, ...answer.series.map(({ values }) => values)] as UPlot.AlignedData;
    const key = seriesKey(answer);
    if (this.#plot !== undefined && key === this.#key) {
      this.#plot.setData(data);
      return;
    }
    this.#key = key;
    this.#plot?.destroy();
    const { host } = this.#options;
    if (host.clientWidth === 0) this.#plot = undefined;
    else
      this.#plot = new uPlot(
        plotOptions(this.#options, answer.series, this.#colours, () => this.#span),
        data,
        host,
      );
  }

  /** Draws the plot again, in other colours. */
  recolour(colours: Colours): void {
    this.#colours = colours;
    this.#key = '';
    if (this.#answer !== undefined) this.show(this.#answer, this.#span);
  }

  /** Moves the crosshair by a number of values. @returns whether there is anything to show */
  step(by: number): boolean {
    const times = this.#answer?.times;
    if (this.#plot === undefined || times === undefined || times.length === 0) return false;
    const first = times.findIndex((at) => at >= this.#span[0]);
    const from = this.#plot.cursor.idx ?? times.length;
    const index = Math.min(times.length - 1, Math.max(first, from + by));
    const at = times[index] as number;
    this.#plot.setCursor({ left: this.#plot.valToPos(at, 'x'), top: 0 });
    return true;
  }

  /** Removes the crosshair, which is then outside of the plot. */
  hideCrosshair(): void {
    this.#plot?.setCursor({ left: -10, top: -10 });
  }

  #resize(): void {
    const { clientWidth: width } = this.#options.host;
    if (width === 0) return;
    if (this.#plot === undefined) this.recolour(this.#colours);
    else if (width !== this.#plot.width) this.#plot.setSize({ width, height: HEIGHT_PX });
  }
}
