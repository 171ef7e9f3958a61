import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { endingOf, freePort, waitFor } from '@waymark/test-kit';
import { ROOT } from './manifests.js';

/** Whether a program is on the PATH; prints a message if not, because its tests are then skipped. */
export function hasProgram(name: string, versionFlag: string): boolean {
  try {
    execFileSync(name, [versionFlag], { stdio: 'ignore' });
    return true;
  } catch {
    console.log(`no ${name} here: its configuration is not run`);
    return false;
  }
}

/**
 * The nginx configuration of docker-compose.yml, for this machine.
 *
 * @param ports the local port for each upstream (`query:3000`) and each port that nginx listens on (`8080`)
 * @param directory where nginx may write
 */
export function localNginxConf(ports: Readonly<Record<string, number>>, directory: string): string {
  let conf = readFileSync(join(ROOT, 'deploy/docker/nginx.conf'), 'utf8').replaceAll('/tmp/', `${directory}/`);
  for (const [name, port] of Object.entries(ports)) {
    const written = /^\d+$/.test(name) ? `listen ${name};` : `server ${name} resolve;`;
    if (!conf.includes(written)) throw new Error(`nginx.conf has no line "${written}"`);
    // Names are looked up again by nginx 1.27.3 and newer only, and here there are none.
    conf = conf.replace(written, written.replace(name, `127.0.0.1:${port}`).replace(' resolve', ''));
  }
  return conf.replace(/^ *resolver .*$/m, '');
}

/**
 * The Caddyfile of docs/production.md, over plain HTTP on this machine, for which there are no certificates.
 *
 * @param ports ports of Caddy's API and link sites, and of the servers behind them
 * @param cdn addresses of a CDN in front of it: the line that names them is then not a comment
 */
function localCaddyfile(
  ports: Readonly<Record<'api' | 'links' | 'apiBehind' | 'linksBehind', number>>,
  cdn: string | undefined,
): string {
  const file = (cdn === undefined ? caddyfile() : caddyfile().replace(BEHIND_CDN, `$1trusted_proxies ${cdn}`))
    .replace('api.example.com {', `http://127.0.0.1:${ports.api} {`)
    .replace('https:// {', `http://127.0.0.1:${ports.links} {`)
    .replace(/\ttls \{\n\t\ton_demand\n\t\}\n/, '')
    .replaceAll('reverse_proxy 127.0.0.1:3000', `reverse_proxy 127.0.0.1:${ports.apiBehind}`)
    .replaceAll('reverse_proxy 127.0.0.1:3001', `reverse_proxy 127.0.0.1:${ports.linksBehind}`);
  return `{\n\tadmin off\n\tauto_https off\n}\n${file.replace(/^\{[\s\S]*?\n\}\n/, '')}`;
}

/** The line of a Caddyfile that names the addresses of a CDN in front of it. */
export const BEHIND_CDN = /^(\s*)# trusted_proxies .*$/m;

/** The Caddyfile in docs/production.md. */
export function caddyfile(): string {
  const text = readFileSync(join(ROOT, 'docs/production.md'), 'utf8');
  const found = /```caddyfile\n([\s\S]*?)```/.exec(text)?.[1];
  if (found === undefined) throw new Error('docs/production.md has no Caddyfile');
  return found;
}

/** The ports of the servers behind a proxy. */
export interface ServersBehind {
  readonly api: number;
  readonly links: number;
}

/** A proxy that is running. */
export interface RunningProxy {
  /** Where it answers. */
  readonly ports: Readonly<Record<'api' | 'links' | 'internal', number>>;
  stop(): Promise<void>;
}

async function freePorts(): Promise<RunningProxy['ports']> {
  return { api: await freePort(), links: await freePort(), internal: await freePort() };
}

async function start(
  program: string,
  args: readonly string[],
  directory: string,
  ports: RunningProxy['ports'],
): Promise<RunningProxy> {
  const env = environmentWith({ HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory });
  const child = spawn(program, args, { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  await waitFor(() => fetch(`http://127.0.0.1:${ports.api}/healthz`).catch(() => undefined), {
    what: `${program} to answer`,
    failure: () => endingOf(child) && `${program} has ended`,
    details: () => output,
  });
  return {
    ports,
    async stop() {
      if (endingOf(child) !== undefined) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    },
  };
}

/** Starts the nginx of docker-compose.yml. @param directory where it may write */
export async function startNginx(directory: string, { api, links }: ServersBehind): Promise<RunningProxy> {
  const ports = await freePorts();
  const behind = { 'ingest:3000': api, 'query:3000': api, 'management:3000': api, 'ingest:3001': links };
  const conf = join(directory, 'nginx.conf');
  writeFileSync(
    conf,
    localNginxConf({ ...behind, 8080: ports.api, 8081: ports.links, 8082: ports.internal }, directory),
  );
  // Root's nginx writes as another user.
  chmodSync(directory, 0o755);
  return start('nginx', ['-p', directory, '-c', conf, '-g', 'daemon off;'], directory, ports);
}

/** Starts the Caddy of docs/production.md. @param directory where it may write; @param cdn addresses of a CDN in front of it */
export async function startCaddy(directory: string, behind: ServersBehind, cdn?: string): Promise<RunningProxy> {
  const ports = await freePorts();
  const file = join(directory, 'Caddyfile');
  const { api, links } = ports;
  writeFileSync(file, localCaddyfile({ api, links, apiBehind: behind.api, linksBehind: behind.links }, cdn));
  return start('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], directory, ports);
}
