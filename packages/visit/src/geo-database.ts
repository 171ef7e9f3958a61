import { readFileSync, statSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { type CityResponse, Reader } from 'maxmind';
import { type Place, toPlace } from './place.js';

/** A database that maps addresses to places. */
export interface GeoDatabase {
  find(address: string): Place | undefined;
  close(): void;
}

export interface GeoDatabaseOptions {
  /** Called at each check at which a changed file cannot be read; the previous content stays in use. */
  readonly onReloadError?: (err: unknown) => void;
  readonly checkIntervalMs?: number;
}

const CACHED_NODES = 10_000;
const CHECK_INTERVAL_MS = 60_000;

/** Databases of some vendors have only the country; the other fields are optional in MaxMind's too. */
type PlaceResponse = Partial<
  Pick<CityResponse, 'country' | 'registered_country' | 'subdivisions' | 'city' | 'continent'>
>;

/** A stamp that changes whenever the file changes or is replaced: size, modification time and inode. */
function stampOf(file: string): string {
  const { size, mtimeMs, ino } = statSync(file);
  return `${size} ${mtimeMs} ${ino}`;
}

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
export function openGeoDatabase(file: string, options: GeoDatabaseOptions = {}): GeoDatabase {
  // The stamp is taken before the content is read, so that a change in between is detected at the next check.
  let stamp = stampOf(file);
  let reader = openReader(file);
  const timer = setInterval(() => {
    try {
      const current = stampOf(file);
      if (current === stamp) return;
      reader = openReader(file);
      stamp = current;
    } catch (err) {
      options.onReloadError?.(err);
    }
  }, options.checkIntervalMs ?? CHECK_INTERVAL_MS);
  timer.unref();
  return {
    find(address) {
      const response = reader.get(address);
      return response === null ? undefined : placeOf(response);
    },
    close() {
      clearInterval(timer);
    },
  };
}
