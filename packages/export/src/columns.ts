import { csvItems, fieldError } from '@waymark/contract';

/**
 * The type of a column's values: `flag` is a boolean, `texts` a list of texts, `time` an ISO 8601 text in UTC, `json` any JSON value. Every
 * value may be null.
 */
export type ColumnType = 'text' | 'integer' | 'flag' | 'time' | 'texts' | 'json';

/** The type of a column, and how its value is read from an item, which is an object of the API. */
export interface Column<Item> {
  readonly type: ColumnType;
  readonly read: (item: Item) => unknown;
}

/** A column of a file. */
export interface NamedColumn<Item> extends Column<Item> {
  readonly name: string;
}

/** The columns that a request may name. */
export interface ColumnChoice<Name extends string> {
  /** The columns of a file when the request names none. */
  readonly defaults: readonly Name[];
  /** Further columns that a request may name. */
  readonly extras: readonly Name[];
}

/**
 * The columns of the parameter `columns`, in its order, each once; without it, the default ones.
 *
 * @param text names separated by commas
 * @throws ApiError 422 for a column that does not exist
 */
export function chooseColumns<Name extends string, Item>(
  text: string | undefined,
  { defaults, extras }: ColumnChoice<Name>,
  columns: Readonly<Record<Name, Column<Item>>>,
): NamedColumn<Item>[] {
  const known: ReadonlySet<string> = new Set([...defaults, ...extras]);
  const isKnown = (name: string): name is Name => known.has(name);
  const named = csvItems(text ?? '');
  const names = named.length === 0 ? defaults : named;
  return [...new Set(names)].map((name) => {
    if (isKnown(name)) return { name, ...columns[name] };
    const rule = `has no column "${shown(name)}"; known are ${[...known].join(', ')}`;
    throw fieldError('invalid_value', 'columns', rule);
  });
}

const NAME_CHARS_SHOWN = 40;

/** A name from a request, short enough for a message. */
function shown(name: string): string {
  return name.length <= NAME_CHARS_SHOWN ? name : `${name.slice(0, NAME_CHARS_SHOWN)}…`;
}
