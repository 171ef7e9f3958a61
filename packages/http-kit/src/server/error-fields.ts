import { pino } from 'pino';

/** Errors of a list that are logged. A transaction of a thousand commands that Redis refuses has an error for each of them. */
const ERRORS_MAX = 3;
/** Errors can contain each other, and a connection error can contain itself. */
const DEPTH_MAX = 8;

type Fields = Readonly<Record<string, unknown>>;

function isPlain(value: object): value is Fields {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether pino has made this object of an error. */
const isSerialized = (value: object): boolean => 'raw' in value && value.raw instanceof Error;

/** A field by its name: of a Redis command only the name, because its arguments may be data about visitors. */
function fieldWithoutArguments(name: string, value: unknown, depth: number): unknown {
  if (name === 'command' && typeof value === 'object' && value !== null)
    return 'name' in value ? value.name : undefined;
  return withoutArguments(value, depth);
}

function fieldsWithoutArguments(fields: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, fieldWithoutArguments(name, value, depth)]),
  );
}

function listWithoutArguments(list: readonly unknown[], depth: number): unknown[] {
  const isOfErrors = list.every((value) => value instanceof Error);
  const kept = isOfErrors ? list.slice(0, ERRORS_MAX) : list;
  const logged = kept.map((value) => withoutArguments(value, depth));
  return kept.length < list.length ? [...logged, `and ${list.length - kept.length} more`] : logged;
}

/** The value with errors as objects, and without the arguments of Redis commands. Objects of other classes are unchanged. */
function withoutArguments(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEPTH_MAX) return '…';
  if (Array.isArray(value)) return listWithoutArguments(value, depth + 1);
  if (value instanceof Error) return fieldsWithoutArguments(pino.stdSerializers.err(value), depth + 1);
  return isPlain(value) || isSerialized(value) ? fieldsWithoutArguments(value, depth + 1) : value;
}

/**
 * The fields of an error that are logged. Errors of Redis contain the command with its arguments, which may be data about visitors; only the
 * command's name is logged, also of errors in lists and fields of other errors, such as those of a refused transaction.
 */
export function errorFields(err: unknown): unknown {
  return withoutArguments(err instanceof Error ? err : pino.stdSerializers.err(err as Error), 0);
}

/** The fields of a line, with errors as in {@link errorFields} whatever their fields are called. */
export function lineFields(fields: Fields): Record<string, unknown> {
  // `err` has a serializer of its own.
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      name === 'err' ? value : fieldWithoutArguments(name, value, 0),
    ]),
  );
}
