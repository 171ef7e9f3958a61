import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentWith, readRunState, removeRunState, writeRunState } from '@waymark/config';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const state = {
  api: 'http://127.0.0.1:3000',
  links: 'http://127.0.0.1:3001',
  redis: 'redis://127.0.0.1:21000',
  clickhouse: 'http://127.0.0.1:21001',
  pids: { supervisor: 1, http: 2, writer: 3, clickhouse: null, redis: 5 },
};

describe('the run state', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'waymark-run-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  it('is read back as written, is private, and leaves no temporary file', () => {
    writeRunState(dataDir, state);
    expect(readRunState(dataDir)).toEqual(state);
    expect(statSync(join(dataDir, 'run', 'standalone.json')).mode & 0o077).toBe(0);
    expect(readdirSync(join(dataDir, 'run'))).toEqual(['standalone.json']);
  });

  it('is undefined when no stack is running', () => {
    expect(readRunState(dataDir)).toBeUndefined();
    writeRunState(dataDir, state);
    removeRunState(dataDir);
    expect(readRunState(dataDir)).toBeUndefined();
  });

  it('names the file in the error when it is damaged', () => {
    writeRunState(dataDir, state);
    writeFileSync(join(dataDir, 'run', 'standalone.json'), '{"api":');
    expect(() => readRunState(dataDir)).toThrow(/standalone\.json cannot be read/);
  });
});

describe('the environment of a child', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('prefers overrides, then the current environment, then defaults; an empty variable counts as not set', () => {
    vi.stubEnv('API_PORT', '4000');
    vi.stubEnv('LOG_LEVEL', ' ');
    vi.stubEnv('WRITER_PORT', '4002');
    const env = environmentWith({ WRITER_PORT: '0' }, { LOG_LEVEL: 'warn', API_PORT: '1' });
    expect(env).toMatchObject({ API_PORT: '4000', LOG_LEVEL: 'warn', WRITER_PORT: '0' });
  });
});
