import { Readable, Transform } from 'node:stream';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { ExportCredentials, ExportScheduleRecord } from '@waymark/catalog';
import type { GuardedAgents } from '@waymark/outbound';
import type { Storage } from './storage.js';
import { StorageError, storageError } from './storage-error.js';

const CONNECT_MS_MAX = 10_000;
/** How long a connection may transfer nothing. */
const SILENCE_MS_MAX = 30_000;
const ATTEMPTS_MAX = 3;
/** Answers to uploads have a few hundred bytes. */
const ANSWER_BYTES_MAX = 1024 ** 2;
/** Bytes of a part of a multipart upload: the least that S3 accepts. */
const PART_BYTES = 5 * 1024 ** 2;

/** The body of an answer, which fails when it is too long, because the SDK reads it into memory. */
function bounded(body: Readable): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) done(new StorageError('The answer of the storage is too long.', true));
      else done(null, chunk);
    },
  });
  body.once('error', (err) => limit.destroy(err));
  limit.once('close', () => body.destroy());
  return body.pipe(limit);
}

/** Opens a storage with the interface of S3. The agents refuse connections to private addresses. */
export function openS3Storage(
  agents: Pick<GuardedAgents, 'http' | 'https'>,
  destination: ExportScheduleRecord['destination'],
  credentials: ExportCredentials,
): Storage {
  const handler = new NodeHttpHandler({
    httpAgent: agents.http,
    httpsAgent: agents.https,
    connectionTimeout: CONNECT_MS_MAX,
    socketTimeout: SILENCE_MS_MAX,
  });
  const { endpoint, region, bucket, forcePathStyle } = destination;
  const client = new S3Client({
    region,
    ...(endpoint === null ? {} : { endpoint }),
    forcePathStyle,
    credentials,
    maxAttempts: ATTEMPTS_MAX,
    // Storages other than AWS do not support the checksums that the SDK adds by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Settings of the SDK in the environment and in files of the machine are meant for other programs.
    ignoreConfiguredEndpointUrls: true,
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    requestHandler: {
      metadata: handler.metadata,
      async handle(...request: Parameters<typeof handler.handle>) {
        const { response } = await handler.handle(...request);
        response.body = bounded(response.body as Readable);
        return { response };
      },
    },
  });
  return {
    async put(Key, { text: Body, mediaType: ContentType }, abortSignal) {
      const command = new PutObjectCommand({ Bucket: bucket, Key, Body, ContentType });
      await client.send(command, { abortSignal }).catch((err: unknown) => {
        throw storageError(err);
      });
    },

    async upload(Key, { bytes, mediaType: ContentType }, signal) {
      let sourceError: unknown;
      async function* read(): AsyncGenerator<Uint8Array> {
        try {
          yield* bytes;
        } catch (err) {
          // Thrown into this generator by the SDK when the storage fails, in contrast to an error of `bytes`.
          if (!(err instanceof Error && err.name === 'AbortError')) sourceError = err;
          throw err;
        }
      }
      const abortController = new AbortController();
      const abort = () => abortController.abort();
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort);
      const Body = Readable.from(read(), { objectMode: false });
      const params = { Bucket: bucket, Key, Body, ContentType };
      try {
        await new Upload({ client, params, queueSize: 1, partSize: PART_BYTES, abortController }).done();
      } catch (err) {
        throw sourceError ?? storageError(err);
      } finally {
        signal.removeEventListener('abort', abort);
        Body.destroy();
      }
    },
  };
}
