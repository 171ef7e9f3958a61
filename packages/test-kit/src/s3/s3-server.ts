import { rmSync } from 'node:fs';
import { temporaryDirectory } from '../stores/temporary-directory.js';

/** The bucket of every test storage. */
export const BUCKET = 'warehouse';

/** A running storage with one bucket. */
export interface S3Server {
  readonly url: string;
  /** The text of an object; undefined when there is none. */
  get(key: string): Promise<string | undefined>;
  /** The keys of all objects, in order. */
  keys(): Promise<string[]>;
  /** Accepts no connections until `open`. */
  close(): Promise<void>;
  /** Listens again, on the same port. */
  open(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a storage with the interface of S3 (s3rver), which accepts the access key id `S3RVER`. */
export async function startS3Server(): Promise<S3Server> {
  // Loaded here, because most tests need none.
  const { default: S3rver } = await import('s3rver');
  const directory = temporaryDirectory('waymark-s3-');
  const options = { address: '127.0.0.1', silent: true, directory, configureBuckets: [{ name: BUCKET }] };
  let server = new S3rver({ ...options, port: 0 });
  const { port } = await server.run();
  const url = `http://127.0.0.1:${port}`;
  const close = () => server.close();
  return {
    url,
    async get(key) {
      const answer = await fetch(`${url}/${BUCKET}/${key}`);
      return answer.ok ? answer.text() : undefined;
    },
    async keys() {
      const list = await (await fetch(`${url}/${BUCKET}?list-type=2&max-keys=1000`)).text();
      return [...list.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => key).sort();
    },
    close,
    async open() {
      server = new S3rver({ ...options, port });
      await server.run();
    },
    async stop() {
      await close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
