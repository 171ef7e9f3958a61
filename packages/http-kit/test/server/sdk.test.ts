import type { AddressInfo } from 'node:net';
import { ApiError, type ErrorCode } from '@waymark/contract';
import { Dub } from 'dub';
import * as sdkErrors from 'dub/models/errors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../../src/index.js';
import { aTestApp, DOC_BASE } from '../test-app.js';

let app: App;
let dub: Dub;
let thrown: unknown;

beforeAll(async () => {
  ({ app } = aTestApp({}, (routes) => {
    routes.get('/tags', async () => {
      throw thrown;
    });
  }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  dub = new Dub({ token: 'dub_x', serverURL: `http://127.0.0.1:${port}` });
});
afterAll(() => app.close());

describe('the dub SDK raises its own typed error', () => {
  it.each<[ErrorCode, new (...given: never[]) => sdkErrors.DubError]>([
    ['bad_request', sdkErrors.BadRequest],
    ['unauthorized', sdkErrors.Unauthorized],
    ['forbidden', sdkErrors.Forbidden],
    ['not_found', sdkErrors.NotFound],
    ['conflict', sdkErrors.Conflict],
    ['invite_expired', sdkErrors.InviteExpired],
    ['unprocessable_entity', sdkErrors.UnprocessableEntity],
    ['rate_limit_exceeded', sdkErrors.RateLimitExceeded],
    ['internal_server_error', sdkErrors.InternalServerError],
  ])('for %s', async (code, expected) => {
    thrown = new ApiError(code, 'Because.');
    const error = await dub.tags.list().catch((err: unknown) => err);
    expect(error).toBeInstanceOf(expected);
    expect((error as { error: unknown }).error).toEqual({
      code,
      message: 'Because.',
      docUrl: `${DOC_BASE}/api-reference/errors#${code.replaceAll('_', '-')}`,
    });
  });

  it('for an unexpected error', async () => {
    thrown = new TypeError('secret');
    await expect(dub.tags.list()).rejects.toBeInstanceOf(sdkErrors.InternalServerError);
  });

  it('for a route that is not implemented', async () => {
    await expect(dub.commissions.list({})).rejects.toBeInstanceOf(sdkErrors.NotFound);
  });
});
