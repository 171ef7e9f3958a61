import { z } from 'zod';

/** Any JSON value. All schemas use this one instance, because `schema-names.ts` gives it its name. */
export const jsonValueSchema = z.json();
