import { z } from 'zod';

/** Any JSON value. One shared schema, so that `schema-names.ts` can name it. */
export const jsonValueSchema = z.json();
