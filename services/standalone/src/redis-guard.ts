// Runs the command of its arguments and kills it when the process that started this one dies: its IPC channel closes.
import { spawn } from 'node:child_process';

const [command = '', ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: 'inherit' });

child.once('error', () => process.exit(127));
child.once('exit', (code) => process.exit(code ?? 1));
process.once('disconnect', () => child.kill('SIGKILL'));
process.on('SIGTERM', () => child.kill('SIGTERM'));
process.send?.({ pid: child.pid });
