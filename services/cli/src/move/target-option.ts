import type { MoveEndpoint } from '@waymark/clickhouse';
import { CommandError } from '../command-error.js';
import { optionalText, type RawOption, requiredText } from '../option-values.js';

const DATABASE = /^\/([A-Za-z_][A-Za-z0-9_]{0,62})$/;
const CLUSTER = /^[A-Za-z0-9_-]{1,63}$/;

/** The options of `waymark move`. */
export interface MoveTargetOptions {
  readonly to: RawOption;
  readonly toCluster: RawOption;
  /** MOVE_TO_PASSWORD. */
  readonly password: string | undefined;
}

/** Decodes a part of a URL; a text that is not percent-encoded is returned as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Reads the target of a move. @throws CommandError, whose message never contains the URL, because it may have a password */
export function readMoveTarget(options: MoveTargetOptions): MoveEndpoint {
  const text = requiredText('to', options.to);
  const rule = (message: string) =>
    new CommandError(`--to ${message}, such as https://user@clickhouse.acme.com:8443/waymark`);
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw rule('must be a URL that begins with http:// or https://');
  const url = new URL(text);
  const [, database] = DATABASE.exec(url.pathname) ?? [];
  if (database === undefined) throw rule('must end with the name of a database of letters, digits and underscores');
  if (url.search !== '' || url.hash !== '') throw rule('must not have parameters');
  if (url.password !== '' && options.password !== undefined)
    throw new CommandError('the password is given twice: in --to and in MOVE_TO_PASSWORD');
  const cluster = optionalText('to-cluster', options.toCluster);
  if (cluster !== undefined && !CLUSTER.test(cluster))
    throw new CommandError('--to-cluster must be letters, digits, underscores and dashes');
  const user = decoded(url.username);
  const password = decoded(url.password) || options.password;
  return { connection: { url: url.origin, user, password, database }, cluster };
}
