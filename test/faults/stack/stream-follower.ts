import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { scheduler } from 'node:timers/promises';
import { openEventStream, waitFor } from '@waymark/test-kit';
import type { RunningStack } from './running-stack.js';

const RETRY_MS = 200;

/** The id of an event in an item of `GET /events`. */
function idOf(item: { readonly eventId?: string; readonly click: { readonly id: string } }): string {
  return item.eventId ?? item.click.id;
}

/** The stream that a {@link StreamFollower} follows. */
export interface FollowerOptions {
  readonly api: string;
  readonly token: string;
  /** Without `event`. */
  readonly filters: string;
}

/** A client of `GET /events/stream` that connects again whenever its stream ends, as browsers do. */
export class StreamFollower {
  /** The ids of the events that were sent, in order, also those that were sent again. */
  readonly events: string[] = [];
  readonly gaps: string[] = [];
  /** How often it had to connect. */
  connections = 0;
  #stopping = false;
  #following: Promise<void> = Promise.resolve();
  readonly #options: FollowerOptions;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Resolves when the first stream is open. */
  async start(): Promise<void> {
    this.#following = this.#follow();
    await waitFor(() => this.connections > 0, { what: 'the first stream' });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { api, token, filters } = this.#options;
    let lastEventId: string | undefined;
    while (!this.#stopping) {
      try {
        const stream = await openEventStream({ url: `${api}/events/stream?event=all&${filters}`, token, lastEventId });
        this.connections += stream.status === 200 ? 1 : 0;
        let taken = 0;
        while (!stream.isEnded() && !this.#stopping) {
          taken = this.#take(stream.frames, taken);
          await scheduler.wait(20);
        }
        await stream.close();
        this.#take(stream.frames, taken);
        lastEventId = stream.lastId() === '' ? undefined : stream.lastId();
      } catch {
        // The API was killed and is not up again.
      }
      await scheduler.wait(RETRY_MS);
    }
  }

  #take(frames: Awaited<ReturnType<typeof openEventStream>>['frames'], from: number): number {
    for (const { event, data } of frames.slice(from)) {
      if (event === 'gap') this.gaps.push(data);
      else if (event !== 'bye') this.events.push(idOf(JSON.parse(data)));
    }
    return frames.length;
  }
}

/** `npx waymark tail`, whose standard output is parsed line by line. */
export class TailCommand {
  readonly events: string[] = [];
  status = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.stdout !== null) {
      createInterface(child.stdout).on('line', (line) => this.events.push(idOf(JSON.parse(line))));
    }
    child.stderr?.on('data', (chunk: Buffer) => {
      this.status += chunk.toString();
    });
  }

  /** Resolves when it follows. */
  static async start(stack: RunningStack, ...options: string[]): Promise<TailCommand> {
    const command = new TailCommand(stack.spawnWaymark('tail', ...options));
    await waitFor(() => command.status.includes('following'), { what: 'waymark tail to follow' });
    return command;
  }

  /** @returns its exit code */
  stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.#ended;
  }
}

/** The ids of all events in `GET /events`, of the three kinds. */
export async function listAll({ api, token, filters }: FollowerOptions): Promise<string[]> {
  const ids: string[] = [];
  for (const event of ['clicks', 'leads', 'sales']) {
    let next: string | undefined = `${api}/events?event=${event}&limit=1000&${filters}`;
    while (next !== undefined) {
      const response: Response = await fetch(next, { headers: { authorization: `Bearer ${token}` } });
      if (!response.ok) throw new Error(`GET /events answers ${response.status}`);
      ids.push(...((await response.json()) as Parameters<typeof idOf>[0][]).map(idOf));
      const link: string | undefined = /<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1];
      next = link && new URL(link, next).href;
    }
  }
  return ids;
}
