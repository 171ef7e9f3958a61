// Runs the command in its arguments, and kills it when the parent of this process ends, which closes the IPC channel.
import { spawn } from 'node:child_process';

const [command = '', ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: 'inherit' });

child.once('error', () => process.exit(127));
child.once('exit', (code) => process.exit(code ?? 1));
process.once('disconnect', () => child.kill('SIGKILL'));
process.on('SIGTERM', () => child.kill('SIGTERM'));
process.send?.({ pid: child.pid }, undefined, undefined, () => {});
// `disconnect` was emitted before, if the parent ended while this process was loading.
if (!process.connected) child.kill('SIGKILL');
