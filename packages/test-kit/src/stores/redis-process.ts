import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { dyingWithParent, endingOf } from '../child-process.js';
import { waitFor } from '../wait-for.js';

/** After a kill, Redis reads its whole log before it answers. */
const START_MS_MAX = 60_000;

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts redis-server, and waits until it answers on `port`. It ends with this process. @throws Error when it ends before that */
export async function launchRedis(port: number, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(...dyingWithParent('redis-server', args), { stdio: ['ignore', 'ignore', 'inherit'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  child.once('error', (err) => console.error(`redis-server cannot be started: ${err.message}`));
  const failure = () => {
    const ending = endingOf(child);
    return ending && `redis-server ended with ${ending}`;
  };
  try {
    await waitFor(() => answersPing(port), { what: `redis-server on port ${port}`, timeoutMs: START_MS_MAX, failure });
  } catch (err) {
    child.kill('SIGKILL');
    throw err;
  }
  return child;
}

/** Whether Redis answers PONG. While it loads its data it accepts connections, but answers with an error. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const finish = (isReady: boolean) => {
      socket.destroy();
      resolve(isReady);
    };
    socket.once('data', (data) => finish(data.toString().startsWith('+PONG')));
    socket.once('error', () => finish(false));
  });
}
