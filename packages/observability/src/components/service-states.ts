import type { Instance, Registry, Turn } from './instance-registry.js';
import { RESTART_TOLD_MS } from './store-watch.js';

/** One part of the installation; times are epoch milliseconds. */
export interface ComponentStatus {
  /** redis, clickhouse, or a service such as writer. */
  readonly component: string;
  /** `unknown`: Redis is away, and only it knows of other processes. */
  readonly state: 'up' | 'down' | 'restarted' | 'unknown';
  readonly since: number;
  readonly detail: string;
  /** Starts and kills counted so far. */
  readonly starts: number;
  readonly kills: number;
}

export interface ServiceStatesOptions {
  readonly now: number;
  /** False: hearts may not have been able to beat lately, so a missing beat says nothing. */
  readonly isSettled: boolean;
  /** The instance that looks: it is there, whatever Redis says. */
  readonly self: string;
}

/** A service that ended with a goodbye is told that long: it may have been replaced by another for good. */
const GOODBYE_TOLD_MS = 60 * 60_000;

const time = (at: number) => new Date(at).toISOString();

function aliveDetail(alive: readonly Instance[], missing: number): string {
  const who = alive.map(({ instance }) => instance).join(', ');
  const work = Math.max(...alive.map(({ lastWorkAt }) => lastWorkAt ?? 0));
  return [
    `runs as ${who}`,
    ...(work > 0 ? [`last work ${time(work)}`] : []),
    ...(missing > 0 ? [`${missing} more without a heartbeat`] : []),
  ].join('; ');
}

type State = Pick<ComponentStatus, 'state' | 'since' | 'detail'>;

function runningState(alive: readonly Instance[], missing: number, end: Turn | undefined, now: number): State {
  const latestStart = Math.max(...alive.map(({ startedAt }) => startedAt));
  const detail = aliveDetail(alive, missing);
  const isBack = alive.some(({ instance, startedAt }) => instance === end?.instance && startedAt === end.startedAt);
  if (end?.event === 'killed' && now - end.at < RESTART_TOLD_MS) {
    // Taken for dead: it hung, or Redis was out of its reach.
    if (isBack)
      return { state: 'up', since: latestStart, detail: `${end.instance} was silent at ${time(end.at)}; ${detail}` };
    return {
      state: 'restarted',
      since: latestStart,
      detail: `${end.instance} was killed at ${time(end.at)}; ${detail}`,
    };
  }
  return { state: 'up', since: Math.min(...alive.map(({ startedAt }) => startedAt)), detail };
}

function endedState(
  missing: readonly Instance[],
  end: Turn | undefined,
  options: ServiceStatesOptions,
): State | undefined {
  const last = [...missing].sort((one, other) => other.beatAt - one.beatAt)[0];
  if (last !== undefined) {
    const detail = `no heartbeat of ${last.instance} since ${time(last.beatAt)}`;
    return { state: options.isSettled ? 'down' : 'unknown', since: last.beatAt, detail };
  }
  if (end === undefined) return undefined;
  if (end.event === 'stopped' && options.now - end.at > GOODBYE_TOLD_MS) return undefined;
  return { state: 'down', since: end.at, detail: `${end.instance} was ${end.event} at ${time(end.at)}` };
}

/** What the registry says of each service that is, or was lately, there; by name. */
export function serviceStates(registry: Registry, options: ServiceStatesOptions): ComponentStatus[] {
  const { instances, lastEnds, starts, kills } = registry;
  const names = new Set([...instances.map(({ instance }) => instance.service), ...lastEnds.keys()]);
  return [...names].sort().flatMap((component) => {
    const own = instances.filter(({ instance }) => instance.service === component);
    const isThere = (entry: (typeof own)[number]) => entry.isAlive || entry.instance.instance === options.self;
    const alive = own.filter(isThere).map(({ instance }) => instance);
    const missing = own.filter((entry) => !isThere(entry)).map(({ instance }) => instance);
    const end = lastEnds.get(component);
    const state =
      alive.length > 0 ? runningState(alive, missing.length, end, options.now) : endedState(missing, end, options);
    const counts = { starts: Number(starts[component] ?? 0), kills: Number(kills[component] ?? 0) };
    return state === undefined ? [] : [{ component, ...state, ...counts }];
  });
}
