import type { ApiError, UndeletedLink } from '@waymark/contract';

/** The entry for a link that a bulk request has not changed or deleted. */
export function bulkError(id: string, { message, code }: ApiError): UndeletedLink {
  return { link: { id }, error: message, code };
}
