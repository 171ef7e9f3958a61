import type { Instance, ProcessChange, Registry } from './instance-registry.js';
import { RESTART_SHOWN_MS } from './store-watch.js';

/** One part of the installation; times are epoch milliseconds. */
export interface ComponentStatus {
  /** redis, clickhouse, or a service such as writer. */
  readonly component: string;
  /** `restarted`: up, less than five minutes after a restart or kill. `unknown`: Redis, which has the heartbeats, is away. */
  readonly state: 'up' | 'down' | 'restarted' | 'unknown';
  /**
   * Since when it has this state. `up`, `restarted`: the first start of the running processes, after a kill the latest. Else the last heartbeat, the
   * end of the last process, or the first check that a store did not answer.
   */
  readonly since: number;
  /** A sentence for operators. */
  readonly detail: string;
  /** Number of running processes; always 1 for stores. */
  readonly processes: number;
  /** Starts counted so far. */
  readonly starts: number;
  /** Processes that were killed so far; always 0 for stores. */
  readonly kills: number;
}

export interface ServiceStatesOptions {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether a missing heartbeat means that a process is down. Not shortly after an outage of Redis. */
  readonly isSettled: boolean;
  /** Name of the instance that computes these states. It counts as up also when its own heartbeat is missing. */
  readonly self: string;
}

/** How long a service that was stopped normally is listed as down. After that it counts as removed. */
const STOPPED_SHOWN_MS = 60 * 60_000;
/**
 * Services that do the same work. One that was killed stays down until it runs again or all services of another set run: after a machine
 * with `npm run up` was replaced by containers, for example, no process of it is ever stopped normally.
 */
const SAME_WORK: readonly (readonly string[])[] = [['http'], ['ingest', 'query', 'management']];

const time = (at: number) => new Date(at).toISOString();

/** The detail of a service that runs. @param missing number of its processes without a heartbeat */
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

/** The state of a service with at least one process that is alive. @param end the last end of one of its processes */
function runningState(alive: readonly Instance[], missing: number, end: ProcessChange | undefined, now: number): State {
  const latestStart = Math.max(...alive.map(({ startedAt }) => startedAt));
  const detail = aliveDetail(alive, missing);
  const isBack = alive.some(({ instance, startedAt }) => instance === end?.instance && startedAt === end.startedAt);
  if (end?.event === 'killed' && now - end.at < RESTART_SHOWN_MS) {
    // The process that was marked as killed is alive: it had hung, or could not reach Redis.
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

/** The state of a service without a process that is alive; undefined when it counts as removed. */
function endedState(
  missing: readonly Instance[],
  end: ProcessChange | undefined,
  isReplaced: boolean,
  options: ServiceStatesOptions,
): State | undefined {
  const last = [...missing].sort((one, other) => other.beatAt - one.beatAt)[0];
  if (last !== undefined) {
    const detail = `no heartbeat of ${last.instance} since ${time(last.beatAt)}`;
    return { state: options.isSettled ? 'down' : 'unknown', since: last.beatAt, detail };
  }
  if (end === undefined) return undefined;
  if (end.event === 'stopped' ? options.now - end.at > STOPPED_SHOWN_MS : isReplaced) return undefined;
  return { state: 'down', since: end.at, detail: `${end.instance} was ${end.event} at ${time(end.at)}` };
}

/** The status of each service that is registered, was killed and not replaced, or was stopped within the hour, sorted by name. */
export function serviceStates(registry: Registry, options: ServiceStatesOptions): ComponentStatus[] {
  const { instances, lastEnds, starts, kills } = registry;
  const names = new Set([...instances.map(({ instance }) => instance.service), ...lastEnds.keys()]);
  const isUp = (entry: (typeof instances)[number]) => entry.isAlive || entry.instance.instance === options.self;
  const running = new Set(instances.filter(isUp).map(({ instance }) => instance.service));
  const isReplaced = (service: string) =>
    SAME_WORK.some((set) => set.includes(service)) &&
    SAME_WORK.some((set) => !set.includes(service) && set.every((other) => running.has(other)));
  return [...names].sort().flatMap((component) => {
    const own = instances.filter(({ instance }) => instance.service === component);
    const alive = own.filter(isUp).map(({ instance }) => instance);
    const missing = own.filter((entry) => !isUp(entry)).map(({ instance }) => instance);
    const end = lastEnds.get(component);
    const state =
      alive.length > 0
        ? runningState(alive, missing.length, end, options.now)
        : endedState(missing, end, isReplaced(component), options);
    const counts = { starts: Number(starts[component] ?? 0), kills: Number(kills[component] ?? 0) };
    return state === undefined ? [] : [{ component, ...state, processes: alive.length, ...counts }];
  });
}
