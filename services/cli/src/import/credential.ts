import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CommandError } from '../command-error.js';

const CHARS_MAX = 4_096;

/** Reads the first line of standard input. On a terminal it shows the question, and hides what is typed. */
function firstLine(question: string): Promise<string> {
  const isTerminal = process.stdin.isTTY === true;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  if (isTerminal) process.stderr.write(question);
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: process.stdin, output: silent, terminal: isTerminal });
    let line = '';
    lines.once('line', (text) => {
      line = text;
      lines.close();
    });
    lines.once('SIGINT', () => {
      // Before the lines are closed, which resolves the promise.
      reject(new CommandError('interrupted'));
      lines.close();
    });
    lines.once('close', () => {
      if (isTerminal) process.stderr.write('\n');
      process.stdin.destroy();
      resolve(line);
    });
  });
}

/**
 * The API key for a source: IMPORT_CREDENTIAL, or else the first line of standard input. It is never an argument of the command, because
 * other users of the machine can read the arguments of a process.
 *
 * @param configured value of IMPORT_CREDENTIAL
 * @throws CommandError when the key is missing, too long or has several lines
 */
export async function readCredential(configured: string | undefined, source: string): Promise<string> {
  const credential = (configured ?? (await firstLine(`API key for ${source}: `))).trim();
  if (credential === '')
    throw new CommandError(`the API key of ${source} is missing: set IMPORT_CREDENTIAL, or write it to standard input`);
  if (/[\r\n]/.test(credential)) throw new CommandError(`the API key of ${source} has several lines: it must be one`);
  if (credential.length > CHARS_MAX)
    throw new CommandError(`the API key of ${source} is too long: it has at most ${CHARS_MAX} characters`);
  return credential;
}
