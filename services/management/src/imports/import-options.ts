import { ApiError, fieldError, type ImportFileFormat, type ImportSource } from '@waymark/contract';
import { checkApi, ImportError, isTimezone, openFile, parseDomainMap } from '@waymark/import';

/** Runs a check of the import, and converts its ImportError to an error of the request. @throws ApiError 422 */
async function asRequestError<T>(run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (err) {
    if (!(err instanceof ImportError)) throw err;
    const message = err.message.charAt(0).toUpperCase() + err.message.slice(1);
    throw new ApiError('unprocessable_entity', `${message}.`, { cause: err });
  }
}

/** The options of an import that schemas cannot check. */
export interface CheckedOptions {
  readonly source: ImportSource;
  readonly domains?: readonly string[] | undefined;
  readonly timezone?: string | undefined;
}

/** Checks the domains and the time zone. @throws ApiError 422 */
export async function checkOptions({ source, domains = [], timezone }: CheckedOptions): Promise<void> {
  await asRequestError(() => parseDomainMap(domains));
  if (timezone === undefined && source === 'yourls') {
    throw fieldError('invalid_combination', 'timezone', 'is required: YOURLS writes times without their zone');
  }
  if (timezone !== undefined && !isTimezone(timezone)) {
    throw fieldError('invalid_value', 'timezone', 'must be a zone such as Europe/Berlin, or UTC');
  }
}

/** Checks that the source has an API and an address. @throws ApiError 422 */
export const checkApiOptions = (source: ImportSource, address: string | null): Promise<void> =>
  asRequestError(() => checkApi(source, address ?? undefined));

/** Checks that the source has files of that format and, for CSV, that the heading can be read. @throws ApiError 422 */
export async function checkFile(
  source: ImportSource,
  format: ImportFileFormat,
  chunks: AsyncIterable<Buffer>,
): Promise<void> {
  await asRequestError(async () => {
    const { rows } = openFile(source, format, chunks);
    if (format !== 'csv') return;
    for await (const _row of rows) return;
  });
}
