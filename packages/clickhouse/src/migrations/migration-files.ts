import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file of SQL statements below `clickhouse/migrations`. */
export interface MigrationFile {
  readonly number: number;
  readonly name: string;
  /** SHA-256 of the text before rendering, so that it is the same on one node and on a cluster. */
  readonly checksum: string;
  readonly text: string;
}

/** `clickhouse/migrations` of the repository. The path is the same from `src` and from `dist`. */
export const MIGRATIONS_DIRECTORY = fileURLToPath(new URL('../../../../clickhouse/migrations', import.meta.url));

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;

/** Reads the migrations of a directory, by number. @throws Error when a number is repeated or missing */
export async function readMigrationFiles(directory: string): Promise<MigrationFile[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(FILE_NAME.exec(name)?.[1]);
      if (number !== index + 1) {
        throw new Error(
          `migration ${name}: expected a name of ${String(index + 1).padStart(4, '0')}_<what_it_makes>.sql`,
        );
      }
      const text = (await readFile(join(directory, name), 'utf8')).replaceAll('\r\n', '\n');
      return { number, name, checksum: createHash('sha256').update(text).digest('hex'), text };
    }),
  );
}
