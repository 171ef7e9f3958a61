import type { ApiKeyRecord } from '@waymark/catalog';
import { expect, it } from 'vitest';
import { checkSeesJob } from '../src/index.js';

const OWNER = { role: 'owner', scopes: ['apis.all'] } as unknown as ApiKeyRecord;
const READER = { role: 'owner', scopes: ['apis.read'] } as unknown as ApiKeyRecord;
const MEMBER = { role: 'member', scopes: ['apis.all'] } as unknown as ApiKeyRecord;

it.each([
  ['passwords', READER, { hidesFolders: true, hidesPasswords: false }],
  ['hidden folders', MEMBER, { hidesFolders: false, hidesPasswords: true }],
])('a job that may contain %s is refused to a key that does not see them', (_what, apiKey, job) => {
  expect(() => checkSeesJob(apiKey, job, 'export')).toThrow('has more access than this one');
  expect(() => checkSeesJob(OWNER, job, 'export')).not.toThrow();
  expect(() => checkSeesJob(apiKey, { hidesFolders: true, hidesPasswords: true }, 'export')).not.toThrow();
});
