import type { ApiError, KeptLink } from '@waymark/contract';

/** What the answer of a bulk request says of a link that it left as it was. */
export function bulkError(id: string, { message, code }: ApiError): KeptLink {
  return { link: { id }, error: message, code };
}
