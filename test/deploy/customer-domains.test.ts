import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readManifests } from './lib/manifests.js';
import { BEHIND_CDN, caddyfile, hasProgram } from './lib/proxies.js';

/** deploy/kubernetes/domains: the route of customers' own domains, with certificates on demand. */

const manifests = readManifests('domains');
const find = (kind: string, name: string, among = manifests) => {
  const found = among.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
};
const file = find('ConfigMap', 'domains').data?.Caddyfile ?? '';
const container = find('StatefulSet', 'domains').spec.template.spec.containers[0];
const hasCaddy = hasProgram('caddy', 'version');

describe('the Caddyfile', () => {
  it('asks whether a domain is registered, and sends visits to the port of links, at ports that the services have', () => {
    const targets = [...file.matchAll(/(?:ask http:\/\/|reverse_proxy )(\w+)\.waymark\.svc:(\d+)(\S*)/g)];
    expect(targets.map(([, service, port, path]) => [service, Number(port), path])).toEqual([
      ['ingest', 3000, '/internal/domain-check'],
      ['ingest', 3001, ''],
    ]);
    const { ports } = find('Service', 'ingest', readManifests()).spec;
    expect(ports.map(({ port }) => port)).toEqual(expect.arrayContaining([3000, 3001]));
  });

  it('removes the headers that only an edge may set, as that of docs/production.md does', () => {
    const removed = (text: string) => [...text.matchAll(/header_up (-\S+)/g)].map(([, name]) => name);
    expect(removed(file)).toEqual(removed(caddyfile()));
  });

  it('has the line for a CDN in front of it, as that of docs/production.md has', () => {
    expect([file, caddyfile()].map((text) => BEHIND_CDN.test(text))).toEqual([true, true]);
  });

  it('listens where its pod and its service do', () => {
    const listens = [/http_port (\d+)/, /https_port (\d+)/, /^:(\d+) \{/m].map((port) => Number(port.exec(file)?.[1]));
    expect(container?.ports?.map(({ containerPort }) => containerPort)).toEqual(listens);
    const names = container?.ports?.map(({ name }) => name);
    expect(find('Service', 'domains').spec.ports.map(({ port, targetPort }) => [port, targetPort])).toEqual([
      [80, 'http'],
      [443, 'https'],
    ]);
    expect(names).toEqual(expect.arrayContaining(['http', 'https']));
  });

  it.skipIf(!hasCaddy)('is accepted by Caddy', () => {
    const directory = mkdtempSync(join(tmpdir(), 'waymark-caddy-'));
    try {
      const path = join(directory, 'Caddyfile');
      writeFileSync(path, file);
      execFileSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', path], { stdio: 'pipe' });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

it('its policies let it reach both ports of ingest, and let only its pods reach ingest that way', () => {
  const into = find('NetworkPolicy', 'ingest-from-domains').spec;
  const ingest = find('StatefulSet', 'ingest', readManifests()).spec.template;
  expect(ingest.metadata.labels).toMatchObject(into.podSelector.matchLabels);
  const named = ingest.spec.containers[0]?.ports?.map(({ name }) => name);
  expect(into.ingress?.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(named);
  const pods = find('StatefulSet', 'domains').spec.template.metadata.labels;
  expect(into.ingress?.map(({ from }) => from)).toEqual([[{ podSelector: { matchLabels: pods } }]]);
  const own = find('NetworkPolicy', 'domains').spec;
  const toIngest = own.egress?.find(({ to }) => to !== undefined);
  expect(toIngest?.to).toEqual([{ podSelector: { matchLabels: ingest.metadata.labels } }]);
  expect(toIngest?.ports?.map(({ port }) => port)).toEqual(
    ingest.spec.containers[0]?.ports?.map(({ containerPort }) => containerPort),
  );
  expect(own.ingress?.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(['http', 'https']);
});

it('the stores and collectors of the settings can be reached: Redis, its Sentinels, ClickHouse and OTLP', () => {
  const { egress = [] } = find('NetworkPolicy', 'stores', readManifests()).spec;
  const ports = egress.flatMap((rule) => (rule.ports ?? []).map(({ port }) => port));
  expect(ports).toEqual(expect.arrayContaining([53, 6379, 26_379, 8123, 8443, 4318]));
});
