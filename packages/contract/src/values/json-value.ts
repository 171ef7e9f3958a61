import { z } from 'zod';

/** Any JSON value: one schema, so that `schema-names.ts` can name it. */
export const jsonValueSchema = z.json();
