import { type CreateLinkBody, IMPORT_SOURCES, type ImportSource, type TAG_COLORS } from '@waymark/contract';

/** The systems that links are imported from. */
export const SOURCES = IMPORT_SOURCES;
export type Source = ImportSource;

/** A value of the source that Waymark cannot store, or only a part of it. */
export interface Lost {
  readonly field: string;
  readonly value: string;
  readonly reason: string;
}

export interface SourceTag {
  readonly name: string;
  readonly color?: (typeof TAG_COLORS)[number];
}

/** What the source has counted for a link, until it was read. */
export interface SourceCounts {
  readonly clicks: number;
  readonly leads: number;
  readonly conversions: number;
  readonly sales: number;
  /** Cents of USD. */
  readonly saleAmount: number;
}

/** The fields of a link's body that a source sets by their values; domain, tags, folder and partner have forms of their own. */
export type LinkFields = Omit<
  CreateLinkBody,
  | ('domain' | 'key' | 'keyLength' | 'prefix' | 'tagIds' | 'tagNames' | 'tagId' | 'folderId')
  | ('programId' | 'partnerId' | 'webhookIds')
>;

/** A link of another system in the fields of ours. */
export interface SourceLink {
  /** As the source has it; null for the source's only, or default, domain. */
  readonly domain: string | null;
  /** As the source has it, case and slashes included; null when the source names none. */
  readonly key: string | null;
  readonly fields: LinkFields;
  readonly tags: readonly SourceTag[];
  /** Name of the folder. */
  readonly folder: string | null;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string | null;
  readonly counts: SourceCounts | null;
  /** The id that the link has there; it becomes the `externalId` of a link without one. */
  readonly sourceId: string | null;
  readonly lost: readonly Lost[];
}

/** What the reading of a source's records depends on. */
export interface MappingOptions {
  /** IANA zone of times that the source writes without a zone. */
  readonly timezone?: string | undefined;
  /** Names of folders by their ids, for sources whose links have only the id. */
  readonly folderNames?: ReadonlyMap<string, string>;
}

/** Reads one record of a source. @returns more than one link for records that have several addresses; @throws RowError */
export type MapRecord = (record: unknown, options: MappingOptions) => SourceLink[];

/** One record of a source, numbered as a person would find it: in files the heading is row 1, in APIs the first link is 1. */
export interface SourceRow {
  readonly row: number;
  /** The record as it was read, or the text that could not be read. */
  readonly record: unknown;
  /** Why the record could not be read. */
  readonly error?: string;
}

/** A record that cannot become a link; the message names the field and its rule. */
export class RowError extends Error {
  override readonly name = 'RowError';
}
