import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXAMPLE_REQUESTS, SCRIPT_PATHS } from '@waymark/contract';
import { expect, it } from 'vitest';
import { ROOT, readManifests } from './lib/manifests.js';

interface IngressPath {
  readonly path: string;
  readonly pathType: 'Exact' | 'Prefix';
  readonly backend: { readonly service: { readonly name: string } };
}

/** The services whose routes have paths of their own; all other routes are those of management. */
const SERVICES = [
  ['ingest', /^\/analytics\/script\./],
  ['query', /^\/(events|exports|analytics|partners\/analytics)(\/|$)/],
  ['ingest', /^\/track\//],
] as const;

/** Every documented path and those of the browser script, with the service that it belongs to. */
const paths = new Set([...EXAMPLE_REQUESTS.map(({ route }) => route.split(' ')[1] ?? ''), ...SCRIPT_PATHS]);
const routes = [...paths].map((path) => {
  const [service = 'management'] = SERVICES.find(([, pattern]) => pattern.test(path)) ?? [];
  return [path, service] as const;
});

it('the ingress of Kubernetes sends every route to its service', () => {
  const ingress = readManifests().find(({ kind, metadata }) => kind === 'Ingress' && metadata.name === 'api');
  const { rules } = (ingress as unknown as { spec: { rules: { http: { paths: IngressPath[] } }[] } }).spec;
  const paths = [...(rules[0]?.http.paths ?? [])].sort((one, other) => other.path.length - one.path.length);
  const serviceOf = (route: string) =>
    paths.find(({ path, pathType }) =>
      pathType === 'Exact' ? route === path : route === path || path === '/' || route.startsWith(`${path}/`),
    )?.backend.service.name;
  expect(routes.map(([path]) => [path, serviceOf(path)])).toEqual(routes);
});

it('the nginx of docker-compose.yml sends every route to its service', () => {
  const conf = readFileSync(join(ROOT, 'deploy/docker/nginx.conf'), 'utf8');
  const locations = [...conf.matchAll(/location (= )?(\/\S*) \{[^}]*?proxy_pass http:\/\/(\w+);\s*\}/g)]
    .map(([, exact, path = '', upstream = '']) => ({ isExact: exact !== undefined, path, upstream }))
    .filter(({ upstream }) => upstream !== 'ingest_links')
    .sort((one, other) => Number(other.isExact) - Number(one.isExact) || other.path.length - one.path.length);
  const serviceOf = (route: string) =>
    locations
      .find(({ isExact, path }) => (isExact ? route === path : route.startsWith(path)))
      ?.upstream.replace('ingest_api', 'ingest');
  expect(routes.map(([path]) => [path, serviceOf(path)])).toEqual(routes);
});
