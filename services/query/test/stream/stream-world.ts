import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { LinkRecord } from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import type { EventRow, QueueKind } from '@waymark/event-format';
import { createEventProducer, createEventWriter, type EventProducer, type EventWriter } from '@waymark/event-queue';
import { type EventStreamClient, openEventStream, temporaryDirectory, waitFor } from '@waymark/test-kit';
import type { StreamTimes } from '../../src/stream/stream-times.js';
import { aWorkspace, startQuery, type TestQuery, TestWorkspace } from '../test-query.js';

const SILENT = { info() {}, warn() {}, error() {}, debug() {} };

/** The service on a port, and a writer that stores what tests queue. */
export interface StreamWorld {
  readonly query: TestQuery;
  readonly url: string;
  readonly workspace: TestWorkspace;
  readonly link: LinkRecord;
  /** Starts another writer. */
  aWriter(): EventWriter;
  readonly writer: EventWriter;
  /** Queues rows; a writer stores them. */
  add(kind: QueueKind, ...rows: EventRow[]): Promise<void>;
  /** A click of now on a link. */
  aClick(link?: LinkRecord, fields?: Parameters<TestWorkspace['click']>[2]): EventRow;
  /** Opens a stream, by default of the workspace's first key. */
  open(
    query?: string,
    options?: { readonly token?: string; readonly lastEventId?: string },
  ): Promise<EventStreamClient>;
  /** Closes all streams; resolves when the service has none left. */
  closeStreams(): Promise<void>;
  /** The ids in `GET /events` of today, oldest first. */
  listed(query?: string, token?: string): Promise<string[]>;
  close(): Promise<void>;
}

/** The id of an event row, or in an item of `GET /events`. */
export const idOf = (row: EventRow): string => String(row[2]);
const idIn = (item: string): string => {
  const { eventId, click } = JSON.parse(item) as { eventId?: string; click: { id: string } };
  return eventId ?? click.id;
};
/** The ids of the events that a stream has sent. */
export const sent = ({ frames }: EventStreamClient): string[] =>
  frames.filter(({ event }) => ['click', 'lead', 'sale'].includes(event)).map(({ data }) => idIn(data));

export async function startStreamWorld(
  streamTimes: Partial<StreamTimes> = {},
  options: Parameters<typeof startQuery>[1] = {},
  now: () => number = Date.now,
): Promise<StreamWorld> {
  const query = await startQuery(now, { ...options, streamTimes: { pollMs: 10, ...streamTimes } });
  await query.app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(query.app.server.address() as AddressInfo).port}`;
  const spoolDirectory = temporaryDirectory('waymark-spool-');
  const { host, port, db } = query.redis.options;
  const redisUrl = `redis://${host}:${port}/${db}`;
  const producer: EventProducer = createEventProducer({ redisUrl, spoolDirectory, logger: SILENT });
  await waitFor(() => producer.ping().then(() => true), { what: 'the producer to be connected' });
  const workspace = await aWorkspace(query);
  const link = await workspace.aLink({ key: 'first' });
  const streams: EventStreamClient[] = [];
  const writers: EventWriter[] = [];
  const aWriter = () => {
    const limits = { batchDelayMs: 10 };
    const clickhouse = query.database.client;
    const writer = createEventWriter({ redisUrl, clickhouse, logger: SILENT, limits, closeMs: 2000 });
    writers.push(writer);
    return writer;
  };
  const writer = aWriter();
  return {
    ...{ query, url, workspace, link, writer, aWriter },
    async add(kind, ...rows) {
      await producer.commit({ rows: rows.map((row) => ({ kind, row })), finals: [] });
    },
    aClick: (of = link, fields = {}) => workspace.click(of, 0, { timestampMs: Date.now(), ...fields }),
    async open(text = '', { token = workspace.token, lastEventId } = {}) {
      const stream = await openEventStream({ url: `${url}/events/stream?${text}`, token, lastEventId });
      streams.push(stream);
      return stream;
    },
    async closeStreams() {
      await Promise.all(streams.splice(0).map((stream) => stream.close()));
      const open = `{waymark}:streams:${parseResourceId('workspace', workspace.id)}`;
      await waitFor(async () => (await query.redis.exists(open)) === 0, { what: 'the end of all streams' });
    },
    async listed(text = '', token = workspace.token) {
      const same = new TestWorkspace(query, workspace.id, token, workspace.host);
      const { status, body } = await same.events(`interval=24h&sortOrder=asc&limit=1000&${text}`);
      if (status !== 200) throw new Error(`GET /events answered ${status}`);
      return body.map((item) => idIn(JSON.stringify(item)));
    },
    async close() {
      await Promise.all(streams.map((stream) => stream.close()));
      await Promise.all(writers.map((each) => each.close()));
      await producer.close();
      await query.close();
      rmSync(spoolDirectory, { recursive: true, force: true });
    },
  };
}
