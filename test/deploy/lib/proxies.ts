import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
 */
export function localCaddyfile(ports: Readonly<Record<'api' | 'links' | 'apiBehind' | 'linksBehind', number>>): string {
  const file = caddyfile()
    .replace('api.example.com {', `http://127.0.0.1:${ports.api} {`)
    .replace('https:// {', `http://127.0.0.1:${ports.links} {`)
    .replace(/\ttls \{\n\t\ton_demand\n\t\}\n/, '')
    .replaceAll('reverse_proxy 127.0.0.1:3000', `reverse_proxy 127.0.0.1:${ports.apiBehind}`)
    .replaceAll('reverse_proxy 127.0.0.1:3001', `reverse_proxy 127.0.0.1:${ports.linksBehind}`);
  return `{\n\tadmin off\n\tauto_https off\n}\n${file.replace(/^\{[\s\S]*?\n\}\n/, '')}`;
}

/** The Caddyfile in docs/production.md. */
export function caddyfile(): string {
  const text = readFileSync(join(ROOT, 'docs/production.md'), 'utf8');
  const found = /```caddyfile\n([\s\S]*?)```/.exec(text)?.[1];
  if (found === undefined) throw new Error('docs/production.md has no Caddyfile');
  return found;
}
