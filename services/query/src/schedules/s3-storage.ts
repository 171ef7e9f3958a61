import { pipeline, type Readable, Transform } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { ExportCredentials, ExportScheduleRecord } from '@waymark/catalog';
import type { GuardedAgents } from '@waymark/outbound';
import type { Storage } from './storage.js';
import { StorageError, storageError } from './storage-error.js';

const CONNECT_MS_MAX = 10_000;
/** How long a connection may transfer nothing. */
const SILENCE_MS_MAX = 30_000;
const ATTEMPTS_MAX = 3;
/** Time limit of all requests for one object together, so that a slow storage does not delay the schedules of others. */
const OBJECT_MS_MAX = 15 * 60_000;
/** Answers to uploads have a few hundred bytes. */
const ANSWER_BYTES_MAX = 1024 ** 2;
/** Bytes of a part of a multipart upload: the least that S3 accepts. */
const PART_BYTES = 5 * 1024 ** 2;
/** Time limit of the request that removes the parts of an upload that has failed. */
const REMOVAL_MS_MAX = 5_000;

/** A piece of an object. Those before the last one have exactly `PART_BYTES`, because some storages accept only parts of one size. */
interface Part {
  readonly number: number;
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** Divides the bytes of an object into parts, until `signal` aborts. An object without bytes has one empty part. */
async function* partsOf(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Part> {
  let chunks: Uint8Array[] = [];
  let waiting = 0;
  let number = 0;
  for await (const chunk of bytes) {
    if (signal.aborted) throw storageError(signal.reason);
    chunks.push(chunk);
    waiting += chunk.length;
    // The last part must not be empty, so a full part waits for more bytes.
    while (waiting > PART_BYTES) {
      const joined = Buffer.concat(chunks);
      number++;
      yield { number, bytes: joined.subarray(0, PART_BYTES), isLast: false };
      chunks = [joined.subarray(PART_BYTES)];
      waiting -= PART_BYTES;
    }
  }
  yield { number: number + 1, bytes: Buffer.concat(chunks), isLast: true };
}

/** A field that every storage with the interface of S3 returns. @throws StorageError when it is missing: something else has answered */
function required(field: string | undefined): string {
  if (field) return field;
  throw StorageError.refused('The answer is not that of a storage with the interface of S3.');
}

/** The body of an answer, which fails when it is too long, because the SDK reads it into memory. */
function bounded(body: Readable): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) done(StorageError.refused('The answer of the storage is too long.'));
      else done(null, chunk);
    },
  });
  // Also ends when the body has failed already. The reader of the limit gets the error.
  return pipeline(body, limit, () => undefined);
}

/** Sends one of the requests for an object. @throws StorageError */
type WithinLimit = <Answer>(
  request: (options: { readonly abortSignal: AbortSignal }) => Promise<Answer>,
) => Promise<Answer>;

/** Sends the requests of one object within its time limit. The time between them, in which events are read, does not count. */
function withinLimit(signal: AbortSignal): WithinLimit {
  let leftMs = OBJECT_MS_MAX;
  return async (request) => {
    const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(leftMs))]);
    const startMs = performance.now();
    try {
      return await request({ abortSignal });
    } catch (err) {
      throw storageError(abortSignal.aborted ? abortSignal.reason : err);
    } finally {
      leftMs = Math.max(0, leftMs - (performance.now() - startMs));
    }
  };
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

  /** Writes an object with one request. */
  async function putObject(Key: string, Body: string | Buffer, ContentType: string, inTime: WithinLimit) {
    const command = new PutObjectCommand({ Bucket: bucket, Key, Body, ContentType });
    required((await inTime((options) => client.send(command, options))).ETag);
  }

  /**
   * Begins an object that is written in parts. Every request has the signal: one that went on after its upload has ended could write the
   * object once more, later than the next attempt, and would hold its connection and its part until the storage ends it.
   */
  async function beginObject(Key: string, ContentType: string, inTime: WithinLimit) {
    const command = new CreateMultipartUploadCommand({ Bucket: bucket, Key, ContentType });
    const { UploadId } = await inTime((options) => client.send(command, options));
    const target = { Bucket: bucket, Key, UploadId: required(UploadId) };
    const Parts: { readonly PartNumber: number; readonly ETag: string }[] = [];
    return {
      async add({ number: PartNumber, bytes: Body }: Part): Promise<void> {
        const part = new UploadPartCommand({ ...target, PartNumber, Body });
        const { ETag } = await inTime((options) => client.send(part, options));
        Parts.push({ PartNumber, ETag: required(ETag) });
      },
      async complete(): Promise<void> {
        const completion = new CompleteMultipartUploadCommand({ ...target, MultipartUpload: { Parts } });
        required((await inTime((options) => client.send(completion, options))).ETag);
      },
      /** Removes the parts, if the storage allows it: credentials that may only put objects may not. */
      async abandon(): Promise<void> {
        const removal = new AbortMultipartUploadCommand(target);
        await client.send(removal, { abortSignal: AbortSignal.timeout(REMOVAL_MS_MAX) }).catch(() => undefined);
      },
    };
  }

  return {
    put: (key, { text, mediaType }, signal) => putObject(key, text, mediaType, withinLimit(signal)),

    async upload(key, { bytes, mediaType }, signal) {
      const inTime = withinLimit(signal);
      let begun: Awaited<ReturnType<typeof beginObject>> | undefined;
      try {
        for await (const part of partsOf(bytes, signal)) {
          if (begun === undefined && part.isLast) return await putObject(key, part.bytes, mediaType, inTime);
          begun ??= await beginObject(key, mediaType, inTime);
          await begun.add(part);
        }
        await begun?.complete();
      } catch (err) {
        await begun?.abandon();
        throw err;
      }
    },
  };
}
