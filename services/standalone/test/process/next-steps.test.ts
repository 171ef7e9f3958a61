import { expect, it } from 'vitest';
import { nextSteps } from '../../src/next-steps.js';

const PLACE = {
  api: 'http://127.0.0.1:3000',
  links: 'http://127.0.0.1:3001',
  domain: 'localhost',
  dataDir: 'data',
  suffix: '',
};

it('a terminal shows the key of the first workspace, in every command that needs it', () => {
  const text = nextSteps({ ...PLACE, apiKey: 'dub_key', apiKeyFile: undefined });
  expect(text.split('Bearer dub_key').length).toBe(8);
  expect(text).toContain('shown this once');
});

it('a log does not contain the key: the commands read it from its file', () => {
  const text = nextSteps({ ...PLACE, apiKey: 'dub_key', apiKeyFile: '/data/first-api.key' });
  expect(text).not.toContain('dub_key');
  expect(text.split("Bearer $(cat '/data/first-api.key')").length).toBe(8);
});

it('later starts refer to an environment variable for the key', () => {
  const text = nextSteps({ ...PLACE, apiKey: undefined, apiKeyFile: undefined });
  expect(text.split('Bearer $WAYMARK_KEY').length).toBe(8);
});
