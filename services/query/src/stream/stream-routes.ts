import type { PassThrough } from 'node:stream';
import { API_KEYS_TABLE, linkVisibility, WORKSPACES_TABLE } from '@waymark/catalog';
import {
  ApiError,
  eventSchema,
  eventsStreamQuerySchema,
  fieldError,
  formatResourceId,
  parseResourceId,
} from '@waymark/contract';
import { parseTailPosition, type TailPosition, type Tails } from '@waymark/event-queue';
import { type App, onReplyClose, type RouteRequirements } from '@waymark/http-kit';
import type { FastifyReply } from 'fastify';
import { findReferences } from '../events/find-references.js';
import { createFrameReader, type FrameReaderDeps } from './read-frames.js';
import { STREAM_TIMES, type StreamTimes } from './stream-times.js';
import { createStreams } from './streams.js';
import { parseSubscription } from './subscription.js';
import { createTailFeeds } from './tail-feeds.js';

export interface StreamRouteDeps extends FrameReaderDeps {
  /** The tails on each queue shard, by the number of the shard. */
  readonly tails: readonly Tails[];
  readonly streamTimes?: Partial<StreamTimes> | undefined;
}

/** What a key needs for a stream: the same as for `GET /events`. */
const REQUIREMENTS: RouteRequirements = {
  permission: 'analytics.read',
  minimumPlan: 'business',
  bucket: 'analytics',
};

/** The tables whose changes may take the permission for a stream away. */
const ACCESS_TABLES: ReadonlySet<string> = new Set([API_KEYS_TABLE, WORKSPACES_TABLE]);

/** Tell proxies not to buffer a stream, and not to compress it, because compression buffers as well. */
const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

const DESCRIPTION = `The events of \`GET /events\` as server-sent events, from the moment they are stored. The name of a frame is
\`click\`, \`lead\` or \`sale\`, its data an item of \`GET /events\`, and its id the position at which a request with the header
\`Last-Event-ID\` goes on. A frame \`gap\` says which events cannot be sent any more, a frame \`bye\` why the stream ends; clients
then connect again.`;

/** The position in the header `Last-Event-ID`; undefined without one. @throws ApiError 422 */
function lastEventId(value: string | string[] | undefined): TailPosition | undefined {
  if (value === undefined || value === '') return undefined;
  const position = typeof value === 'string' ? parseTailPosition(value) : undefined;
  if (position !== undefined) return position;
  throw fieldError('invalid_format', 'Last-Event-ID', 'must be the id of a frame of this stream');
}

function sendBody(reply: FastifyReply, body: PassThrough): FastifyReply {
  // This calls the listener at once if the client has left while the stream was opened.
  onReplyClose(reply, () => body.destroy());
  reply.request.streamBeganMs = reply.elapsedTime;
  return reply.headers(HEADERS).send(body);
}

/** `GET /events/stream` (docs/reference/stream.md). */
export async function streamRoutes(app: App, deps: StreamRouteDeps): Promise<void> {
  const { catalog, now } = deps;
  const times = { ...STREAM_TIMES, ...deps.streamTimes };
  // Each queue shard is polled by itself, so that the other streams go on while one shard is away.
  const feeds = deps.tails.map((tails) => createTailFeeds(tails, times));
  const feedOf = (workspaceNumber: string) =>
    catalog.queueShards.pick(feeds, formatResourceId('workspace', workspaceNumber));
  const streams = createStreams({ feedOf, readFrames: createFrameReader(deps), times });
  catalog.subscribe({
    onChange({ records }) {
      const changed = new Set(
        records.filter(({ table }) => ACCESS_TABLES.has(table)).map(({ workspaceId }) => workspaceId),
      );
      for (const workspaceId of changed) streams.recheck(parseResourceId('workspace', workspaceId) ?? '');
    },
    onGap() {},
  });
  app.addHook('preClose', async () => {
    streams.close();
    for (const feed of feeds) feed.close();
  });
  app.get(
    '/events/stream',
    {
      // A HEAD request would open a stream whose events no client receives.
      exposeHeadRoute: false,
      onRequest: app.authenticate(REQUIREMENTS),
      preValidation: (request) => catalog.eventUsage.check(request.workspace),
      schema: {
        operationId: 'streamEvents',
        summary: 'Stream events',
        description: DESCRIPTION,
        tags: ['Events'],
        querystring: eventsStreamQuerySchema,
        response: { 200: { description: 'Frames.', content: { 'text/event-stream': { schema: eventSchema } } } },
      },
    },
    async (request, reply) => {
      const { workspace, apiKey } = request;
      const resume = lastEventId(request.headers['last-event-id']);
      const visibility = linkVisibility(apiKey);
      const subscription = parseSubscription(request.query, workspace, visibility, now());
      const [filters] = subscription.filters.values();
      if (filters !== undefined) await findReferences(catalog, subscription.caller, filters);

      /** Checks the key again. @throws ApiError when it may not have this stream any more */
      async function check(): Promise<void> {
        const caller = await app.reauthenticate(request, REQUIREMENTS);
        await catalog.eventUsage.check(caller.workspace);
        const { hidesFolders, hidesPasswords } = linkVisibility(caller.apiKey);
        if (hidesFolders === visibility.hidesFolders && hidesPasswords === visibility.hidesPasswords) return;
        throw new ApiError('forbidden', 'The rights of the API key have changed.');
      }

      const workspaceNumber = parseResourceId('workspace', workspace.id) ?? '';
      const body = await streams.open({
        subscription,
        resume,
        check,
        workspaceNumber,
        keyId: apiKey.id,
        onError: (err) => request.log.warn({ err }, 'a stream of events has failed'),
      });
      return sendBody(reply, body);
    },
  );
}
