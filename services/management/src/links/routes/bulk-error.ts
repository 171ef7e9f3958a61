import type { ApiError, UndeletedLink } from '@waymark/contract';

/** What the answer of a bulk request says of a link that it left as it was. */
export function bulkError(id: string, { message, code }: ApiError): UndeletedLink {
  return { link: { id }, error: message, code };
}
