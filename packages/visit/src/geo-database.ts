import { readFileSync } from 'node:fs';
import { openReloadedFile, type ReloadOptions } from '@waymark/config';
import { LRUCache } from 'lru-cache';
import { type CityResponse, Reader } from 'maxmind';
import { type Place, toPlace } from './place.js';

/** A database that maps addresses to places. */
export interface GeoDatabase {
  /** The place of an address; undefined if the database lacks the address, or is damaged there. */
  find(address: string): Place | undefined;
  close(): void;
}

/** Options of {@link openGeoDatabase}. */
export interface GeoDatabaseOptions extends ReloadOptions {
  /** Called for the first look-up of a file that fails: one that is replaced in place may be read while it is written. */
  readonly onLookupError?: ((err: unknown) => void) | undefined;
}

const CACHED_NODES = 10_000;

/** The part of a response that is read. All fields are optional: databases of some vendors have only the country. */
type PlaceResponse = Partial<
  Pick<CityResponse, 'country' | 'registered_country' | 'subdivisions' | 'city' | 'continent'>
>;

function openReader(file: string): Reader<CityResponse> {
  return new Reader<CityResponse>(readFileSync(file), { cache: new LRUCache({ max: CACHED_NODES }) });
}

function placeOf(response: PlaceResponse): Place {
  return toPlace({
    country: response.country?.iso_code ?? response.registered_country?.iso_code,
    region: response.subdivisions?.[0]?.iso_code,
    city: response.city?.names?.en,
    continent: response.continent?.code,
  });
}

/**
 * Opens an mmdb file and reloads it when it changes (operators replace it weekly).
 *
 * @throws Error when the file cannot be read
 */
export function openGeoDatabase(path: string, options: GeoDatabaseOptions = {}): GeoDatabase {
  const file = openReloadedFile(path, openReader, options);
  let damaged: Reader<CityResponse> | undefined;
  return {
    find(address) {
      const reader = file.current();
      // A tree of IPv4 addresses has an entry for the first 32 bits of every other address, too.
      if (reader.metadata.ipVersion === 4 && address.includes(':')) return undefined;
      try {
        const response = reader.get(address);
        return response === null ? undefined : placeOf(response);
      } catch (err) {
        if (damaged !== reader) options.onLookupError?.(err);
        damaged = reader;
        return undefined;
      }
    },
    close: file.close,
  };
}
