import { connect } from 'node:net';
import type { TestRedis } from './test-server.js';

const REDIS_PORT = 6379;
const DATABASES = 16;
let nextDatabase = 0;

/**
 * An emptied database of an external Redis. It cannot be killed: tests that do so are not run against external servers.
 * Files must run one after another, because the numbers of databases are counted within one process.
 */
export async function emptyGivenRedis(url: string): Promise<TestRedis> {
  const database = nextDatabase++ % DATABASES;
  const { hostname, port: written } = new URL(url);
  const port = Number(written || REDIS_PORT);
  const refuse = () => Promise.reject(new Error(`the Redis at ${url} was given and is not killed by tests`));
  await command(hostname, port, `SELECT ${database}\r\nFLUSHDB\r\n`, '+OK\r\n+OK\r\n');
  return {
    url: `redis://${hostname}:${port}/${database}`,
    port,
    dataDir: '',
    pid: 0,
    kill9: refuse,
    restart: refuse,
    stop: () => Promise.resolve(),
  };
}

function command(host: string, port: number, text: string, expected: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, host, () => socket.write(text));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`Redis closed the connection after ${JSON.stringify(answer)}`)));
    socket.on('data', (data) => {
      answer += data.toString();
      if (answer.length < expected.length) return;
      socket.destroy();
      if (answer === expected) resolve();
      else reject(new Error(`Redis answered ${JSON.stringify(answer)}`));
    });
  });
}
