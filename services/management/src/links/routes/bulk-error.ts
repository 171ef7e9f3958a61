import type { ApiError, UndeletedLink } from '@waymark/contract';

/** The entry in the response of a bulk request for a link that was skipped. */
export function bulkError(id: string, { message, code }: ApiError): UndeletedLink {
  return { link: { id }, error: message, code };
}
