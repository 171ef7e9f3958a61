import { ERROR_STATUS, type ErrorCode } from '@waymark/contract';

/** An error code, explained for callers. */
export interface ErrorGuide {
  readonly code: ErrorCode;
  readonly status: number;
  readonly meaning: string;
  /** What the caller should do. */
  readonly advice: string;
}

const GUIDE: Readonly<Record<ErrorCode, readonly [meaning: string, advice: string]>> = {
  bad_request: [
    'The request could not be read: JSON that does not parse, a required field that is missing, or a value of the wrong type.',
    'Correct the field that the message names. The same request will fail again.',
  ],
  unauthorized: [
    'There is no `Authorization` header, it has another form than `Bearer dub_…`, or the key is unknown, revoked or expired.',
    'Send a key of the workspace. `npx waymark key create` creates one; a key is shown only once.',
  ],
  forbidden: [
    'The request is understood and not permitted: the key lacks a permission or its role does not suffice, the plan does not have ' +
      'the feature or its quota is used up, a date range is longer than the plan allows, or a domain belongs to somebody else.',
    'The message says which. Use a key with the permission, or have the plan or quota changed with `npx waymark workspace update`.',
  ],
  not_found: [
    'Nothing of this workspace has that id, or there is no such route. Resources of other workspaces are not found either.',
    'Check the id and its form: an id of your own is passed as `ext_` and the id.',
  ],
  conflict: [
    'The name is in use: a short link, an external id, the name of a tag or a folder, a domain, or the address of a webhook.',
    'Choose another name, or update what has it; `PUT /links/upsert` does either.',
  ],
  invite_expired: ['The invitation has expired.', 'Ask for a new one. No request with an API key meets this error.'],
  unprocessable_entity: [
    'The request is well formed and a value in it is not valid: out of its range, too long, not one of the choices, naming something ' +
      'that does not exist, or at odds with another field.',
    'The message begins with the kind of fault and the place of the value. Correct it; the same request will fail again.',
  ],
  rate_limit_exceeded: [
    'The key, or the address of a public endpoint, has made more requests than its plan allows, or the service is holding back ' +
      'writes because its queue is nearly full or too many webhooks of the workspace wait for their receivers.',
    'Wait for the seconds in `Retry-After` and repeat the request. `X-RateLimit-Limit`, `X-RateLimit-Remaining` and ' +
      '`X-RateLimit-Reset` say how much is left.',
  ],
  internal_server_error: [
    'Something went wrong on our side, and nothing was recorded that was not confirmed.',
    'Repeat the request, after the seconds in `Retry-After` if it is there: a repeated lead or a sale with the same `invoiceId` is ' +
      'counted once. The message names the request; the log of the service has it under that id.',
  ],
};

/** The explanation of every error code. */
export const ERROR_GUIDE: readonly ErrorGuide[] = (Object.keys(ERROR_STATUS) as ErrorCode[]).map((code) => {
  const [meaning, advice] = GUIDE[code];
  return { code, status: ERROR_STATUS[code], meaning, advice };
});
