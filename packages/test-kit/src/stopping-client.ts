import type { ClickHouseClient } from '@waymark/clickhouse';

/** A client that stops at one statement, as its process would, and executes all others. */
export interface StoppingClient {
  readonly client: ClickHouseClient;
  /** Resolves when the process has stopped. */
  readonly stopped: Promise<void>;
  /** Resumes the process. */
  go(): void;
  /** Makes the statement fail, as all statements of a killed process do. */
  kill(): void;
}

/** When a {@link StoppingClient} stops. */
export interface StopAt {
  /** Whether it is that statement: the query of a read, or `INSERT INTO` and the table. */
  readonly statement: (text: string) => boolean;
  /** Which of these statements; by default the first. */
  readonly nth?: number;
  /** Whether it stops once the statement is carried out, before the result is used; by default it stops before. */
  readonly isDone?: boolean;
}

/** Makes a client that stops at a statement, for tests of what another process does meanwhile. */
export function stoppingClient(
  client: ClickHouseClient,
  { statement, nth = 1, isDone = false }: StopAt,
): StoppingClient {
  let arrive = () => {};
  const stopped = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  let go = () => {};
  let kill = () => {};
  const released = new Promise<void>((resolve, reject) => {
    go = resolve;
    kill = () => reject(new Error('the process was killed'));
  });
  released.catch(() => undefined);
  let count = 0;
  async function pass<T>(text: string, run: () => Promise<T>): Promise<T> {
    const isStop = statement(text) && ++count === nth;
    if (isStop && !isDone) {
      arrive();
      await released;
    }
    const result = await run();
    if (isStop && isDone) {
      arrive();
      await released;
    }
    return result;
  }
  const stopping = Object.assign(Object.create(client) as ClickHouseClient, {
    rows: (read: Parameters<ClickHouseClient['rows']>[0]) => pass(read.query, () => client.rows(read)),
    insert: (insertion: Parameters<ClickHouseClient['insert']>[0]) =>
      pass(`INSERT INTO ${insertion.table}`, () => client.insert(insertion)),
  });
  return { client: stopping, stopped, go: () => go(), kill: () => kill() };
}
