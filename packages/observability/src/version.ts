import { readFileSync } from 'node:fs';
import { z } from 'zod';

const manifestSchema = z.object({ version: z.string() });

/** Version of this release. All packages have the same one. */
export const VERSION = manifestSchema.parse(
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')),
).version;
