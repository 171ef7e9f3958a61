import type { CreateLinkBody, TAG_COLORS } from '@waymark/contract';

/** A value of the source that Waymark cannot store, or of which it stores only a part. */
export interface Lost {
  readonly field: string;
  readonly value: string;
  /** Forms a sentence with the name of the field before it, unless it is the error of the API for the value. */
  readonly reason: string;
}

/** A tag of a link; without a color it gets the default one. */
export interface SourceTag {
  readonly name: string;
  readonly color?: (typeof TAG_COLORS)[number];
}

/** The counters of a link at the source, at the time of the import. */
export interface SourceCounts {
  readonly clicks: number;
  readonly leads: number;
  readonly conversions: number;
  readonly sales: number;
  /** Cents of USD. */
  readonly saleAmount: number;
}

/**
 * The fields of the body of `POST /links` that are copied from the source. Domain, key, tags and folder need a look-up and are not among
 * them.
 */
export type LinkFields = Omit<
  CreateLinkBody,
  | ('domain' | 'key' | 'keyLength' | 'prefix' | 'tagIds' | 'tagNames' | 'tagId' | 'folderId')
  | ('programId' | 'partnerId' | 'webhookIds')
>;

/**
 * Fields that an update clears. The others are never without a value, are part of `url` (UTM parameters), or are given here (`externalId`,
 * which is the id at the source without one).
 */
export const CLEARABLE = [
  ...([
    'title',
    'description',
    'image',
    'video',
    'comments',
    'expiresAt',
    'expiredUrl',
    'password',
    'tenantId',
  ] as const),
  ...(['ios', 'android', 'geo', 'testVariants', 'archived', 'proxy', 'rewrite', 'doIndex', 'publicStats'] as const),
  ...(['trackConversion', 'tags', 'folder'] as const),
];
export type Clearable = (typeof CLEARABLE)[number];

/** Those of {@link CLEARABLE} that are true or false. */
export const CLEARABLE_FLAGS: ReadonlySet<Clearable> = new Set<Clearable>([
  ...(['archived', 'proxy', 'rewrite', 'doIndex', 'publicStats', 'trackConversion'] as const),
]);

/** {@link CLEARABLE} for sources whose fields have the same names. */
export const SAME_NAMES = Object.fromEntries(CLEARABLE.map((name) => [name, name]));

/** A link of another system, mapped to the fields of Waymark. */
export interface SourceLink {
  /** The domain at the source; null for its only, or default, domain. */
  readonly domain: string | null;
  /** The key at the source, with its case and slashes; null when the source has none. */
  readonly key: string | null;
  readonly fields: LinkFields;
  readonly tags: readonly SourceTag[];
  /** Name of the folder. */
  readonly folder: string | null;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string | null;
  readonly counts: SourceCounts | null;
  /** The id of the link at the source; it becomes the `externalId` of a link without one. */
  readonly sourceId: string | null;
  /** What the source has no value for, although it has the field: an update takes it from the link. Without it, nothing is taken. */
  readonly cleared?: readonly Clearable[];
  readonly lost: readonly Lost[];
}

/** Options for reading the records of a source. */
export interface MappingOptions {
  /** IANA zone of times that the source has without a zone. */
  readonly timezone?: string | undefined;
  /** Names of folders by their ids, for sources whose links have only the id. */
  readonly folderNames?: ReadonlyMap<string, string>;
}

/** Maps one record of a source. @returns one link per address of the record; @throws RowError for a record that cannot become a link */
export type MapRecord = (record: unknown, options: MappingOptions) => SourceLink[];

/** One record of a source. */
export interface SourceRow {
  /** Its number for people: in a table the heading is row 1; in APIs, dumps and NDJSON files the first record is 1. */
  readonly row: number;
  /** The record as it was read, or the text that could not be read. */
  readonly record: unknown;
  /** Why the record could not be read. */
  readonly error?: string;
  /** What the source did not return of the record. */
  readonly lost?: readonly Lost[];
  /** Columns of the table, for a row that could not be read. */
  readonly columns?: readonly string[];
  /** Values of a row of a table behind its last column. */
  readonly rest?: readonly string[];
}

/** A record that cannot become a link or an event. It is rejected with the message, and the import goes on. */
export class RowError extends Error {
  override readonly name = 'RowError';
}
