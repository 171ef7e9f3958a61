import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings, SETTING_NAMES } from '@waymark/config';
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job } from 'kubernetes-models/batch/v1';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Namespace, PersistentVolumeClaim, Secret, Service } from 'kubernetes-models/v1';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Manifest, manifestText, ROOT, readManifests, schemaValue, withSecrets } from './lib/manifests.js';
import { typeFaults } from './lib/strict-types.js';

/** Checks deploy/kubernetes against the schema of Kubernetes, its own references and the code. */
const MODELS = {
  'apps/v1': { Deployment, StatefulSet },
  'autoscaling/v2': { HorizontalPodAutoscaler },
  'batch/v1': { Job },
  'networking.k8s.io/v1': { Ingress, NetworkPolicy },
  'policy/v1': { PodDisruptionBudget },
  v1: { ConfigMap, Namespace, PersistentVolumeClaim, Secret, Service },
} as const;

interface Model {
  validate(): void;
}

function modelOf({ apiVersion, kind }: Manifest): new (value: never) => Model {
  const models = MODELS[apiVersion as keyof typeof MODELS] as Readonly<Record<string, new (value: never) => Model>>;
  const model = models?.[kind];
  if (model === undefined) throw new Error(`no model of ${apiVersion} ${kind}`);
  return model;
}

const manifests = readManifests();
const ofKind = (...kinds: string[]) => manifests.filter(({ kind }) => kinds.includes(kind));
const workloads = ofKind('Deployment', 'StatefulSet');
const pods = [...workloads, ...ofKind('Job')];
const containersOf = ({ spec }: Manifest) => [
  ...(spec.template.spec.initContainers ?? []),
  ...spec.template.spec.containers,
];
const named = (kind: string, name: string) => {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
};
const config = named('ConfigMap', 'waymark').data ?? {};
const secret = named('Secret', 'waymark').stringData ?? {};

function selects(labels: Readonly<Record<string, string>>, pod: Manifest): boolean {
  return Object.entries(labels).every(([name, value]) => pod.spec.template.metadata.labels[name] === value);
}

describe('the schema of Kubernetes', () => {
  it('accepts every manifest', () => {
    for (const { file, ...manifest } of manifests) {
      const Model = modelOf({ file, ...manifest });
      expect(() => new Model(manifest as never).validate(), `${file} ${manifest.kind}`).not.toThrow();
    }
  });

  it('has every field of every manifest, and a misspelt field is found', { timeout: 60_000 }, () => {
    const values = [...manifests, ...readManifests('domains')].map(schemaValue);
    const misspelt = JSON.parse(
      JSON.stringify(values.find(({ type }) => type === 'IDeployment')).replace('readOnlyRoot', 'readonlyRoot'),
    );
    const faults = typeFaults([...values, misspelt]);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('readonlyRootFilesystem');
  });
});

describe('references', () => {
  it('every selector selects the pods of one workload, or all of them', () => {
    for (const workload of workloads) expect(selects(workload.spec.selector.matchLabels ?? {}, workload)).toBe(true);
    for (const budget of ofKind('PodDisruptionBudget')) {
      const found = pods.filter((pod) => selects(budget.spec.selector.matchLabels ?? {}, pod));
      expect(found.map(({ metadata }) => metadata.name)).toEqual([budget.metadata.name]);
    }
    for (const policy of ofKind('NetworkPolicy')) {
      expect(pods.some((pod) => selects(policy.spec.podSelector.matchLabels, pod))).toBe(true);
    }
    for (const { spec } of workloads) {
      for (const { labelSelector } of spec.template.spec.topologySpreadConstraints ?? []) {
        expect(labelSelector.matchLabels).toEqual(spec.selector.matchLabels);
      }
    }
  });

  it('every service refers to existing ports of its pods, by name and number', () => {
    for (const { metadata, spec } of ofKind('Service')) {
      const found = workloads.filter((pod) => selects(spec.selector as Readonly<Record<string, string>>, pod));
      expect(found.map((pod) => pod.metadata.name)).toEqual([metadata.name]);
      for (const { name, port, targetPort } of spec.ports) {
        expect(found[0]?.spec.template.spec.containers[0]?.ports).toContainEqual({
          name: targetPort,
          containerPort: port,
        });
        expect(targetPort).toBe(name);
      }
    }
  });

  it('every port of an ingress and of a network policy exists', () => {
    for (const { spec } of ofKind('Ingress')) {
      for (const { backend } of spec.rules.flatMap(({ http }) => http.paths)) {
        const { ports } = named('Service', backend.service.name).spec;
        expect(ports.map(({ name }) => name)).toContain(backend.service.port.name);
      }
    }
    for (const { spec } of ofKind('NetworkPolicy')) {
      const found = pods.filter((pod) => selects(spec.podSelector.matchLabels, pod));
      const names = found.flatMap((pod) => pod.spec.template.spec.containers[0]?.ports ?? []).map(({ name }) => name);
      for (const { port } of (spec.ingress ?? []).flatMap(({ ports }) => ports)) expect(names).toContain(port);
    }
  });

  it('paths under /internal are closed to the outside at every host of the API', () => {
    const isApi = (host: Manifest['spec']['rules'][number]) =>
      host.http.paths.some(({ backend }) => backend.service.port.name === 'api');
    const closed = ofKind('Ingress').filter(
      ({ metadata }) => metadata.annotations?.['nginx.ingress.kubernetes.io/whitelist-source-range'] === '127.0.0.1/32',
    );
    const closedHosts = closed.flatMap(({ spec }) =>
      spec.rules.flatMap(({ host, http }) => http.paths.map(({ path }) => `${host}${path}`)),
    );
    const open = ofKind('Ingress').filter((ingress) => !closed.includes(ingress));
    const hosts = open.flatMap(({ spec }) => spec.rules.filter(isApi).map(({ host }) => host));
    expect(hosts).not.toEqual([]);
    for (const host of hosts) expect(closedHosts).toContain(`${host}/internal`);
  });

  it('the ingress of the links passes headers on that are as long as those of docker-compose.yml', () => {
    const [, size] =
      /proxy_buffer_size (\w+);/.exec(readFileSync(join(ROOT, 'deploy/docker/nginx.conf'), 'utf8')) ?? [];
    const isLinks = ({ spec }: Manifest) =>
      spec.rules.some(({ http }) => http.paths.some(({ backend }) => backend.service.port.name === 'links'));
    const sizes = ofKind('Ingress')
      .filter(isLinks)
      .map(({ metadata }) => metadata.annotations?.['nginx.ingress.kubernetes.io/proxy-buffer-size']);
    expect(sizes).toEqual([size ?? 'the size in nginx.conf']);
  });

  it('the ingresses pass bodies on as they arrive, once, except those that refuse every request', () => {
    const annotation = (name: string) => (ingress: Manifest) =>
      ingress.metadata.annotations?.[`nginx.ingress.kubernetes.io/${name}`];
    const open = ofKind('Ingress').filter((ingress) => annotation('whitelist-source-range')(ingress) === undefined);
    expect(open.map(({ metadata }) => metadata.name)).toEqual(['api', 'imports', 'links']);
    expect(open.map(annotation('proxy-request-buffering'))).toEqual(['off', 'off', 'off']);
    // A request that the proxy repeats may count twice.
    expect(open.map(annotation('proxy-next-upstream'))).toEqual(['off', 'off', 'off']);
  });

  it('every autoscaler scales an existing workload that does not set its number of replicas', () => {
    const scaled = ofKind('HorizontalPodAutoscaler').map(
      ({ spec }) => `${spec.scaleTargetRef.kind} ${spec.scaleTargetRef.name}`,
    );
    expect(scaled.sort()).toEqual(workloads.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort());
    for (const { spec } of workloads) expect(spec).not.toHaveProperty('replicas');
  });

  it('everything is in the namespace, and reads its settings from the config map and the secret', () => {
    for (const { kind, metadata } of manifests) {
      if (kind !== 'Namespace') expect([kind, metadata.namespace]).toEqual([kind, 'waymark']);
    }
    for (const container of pods.flatMap(containersOf)) {
      expect(container.envFrom).toEqual([{ configMapRef: { name: 'waymark' } }, { secretRef: { name: 'waymark' } }]);
      expect(container.env).toBeUndefined();
    }
  });
});

/** Runs commands with another kubectl. */
function run(kubectl: string, commands: string): string {
  const options = { cwd: ROOT, encoding: 'utf8', input: '' } as const;
  return spawnSync('sh', ['-c', `kubectl() { ${kubectl}; }\n${commands}`], options).stdout;
}

describe('docs/production.md', () => {
  const blocks = readFileSync(join(ROOT, 'docs/production.md'), 'utf8').split('```');
  const commandsWith = (text: string) => (blocks.find((block) => block.includes(text)) ?? '').replace(/^sh\n/, '');

  it.each([
    ['restored', ['--backup', '2026-11-21T02:00:00Z']],
    ['move', ['--to', 'https://waymark@clickhouse.acme.com:8443/waymark']],
  ])('makes a Job of `migrate` that runs `%s`, in place of the one of an earlier attempt', (name, args) => {
    const commands = commandsWith(`name: ${name}/`);
    const job = parse(run('if [ "$1" = apply ]; then cat; fi', commands)) as Manifest;
    const { images } = parse(manifestText('kustomization.yaml')) as { images: { newName: string; newTag: string }[] };
    const [container] = containersOf(named('Job', 'migrate'));
    expect([job.kind, job.metadata.name]).toEqual(['Job', name]);
    expect(containersOf(job)).toEqual([
      {
        ...container,
        name,
        image: images.map(({ newName, newTag }) => `${newName}:${newTag}`).join(),
        command: ['node', 'services/cli/bin/waymark.mjs', name, ...args],
      },
    ]);
    const asked = run('echo "$1 $2 $3"', commands).split('\n');
    expect(asked[0]).toBe(`delete job ${name}`);
    expect(asked).toHaveLength(4);
    // Nothing waits for a Job that was not made.
    expect(run('echo "$1"; [ "$1" != apply ]', commands)).toBe('delete\napply\n');
  });

  it('stops and starts every service, and deletes every autoscaler', () => {
    const names = (kind: string) =>
      manifests
        .filter((manifest) => manifest.kind === kind)
        .map(({ metadata }) => metadata.name)
        .sort();
    for (const replicas of ['0', '2']) {
      const asked = run('echo "$*"', commandsWith(`statefulset ingest -n waymark --replicas=${replicas}`)).split('\n');
      const namedIn = (begin: string) => (asked.find((line) => line.startsWith(begin)) ?? '').slice(begin.length);
      const of = (begin: string) => namedIn(begin).split(' -n waymark')[0]?.split(' ').sort();
      expect(of('scale deployment ')).toEqual(names('Deployment'));
      expect(of('scale statefulset ')).toEqual(names('StatefulSet'));
      if (replicas === '0') expect(of('delete hpa ')).toEqual(names('HorizontalPodAutoscaler'));
      expect(asked.filter((line) => line.includes(`--replicas=${replicas}`))).toHaveLength(2);
    }
  });
});

describe('docs/runbooks/rotating-keys.md', () => {
  it('applies the Secret, then restarts every service, and ends when the pods of each are ready', () => {
    const page = readFileSync(join(ROOT, 'docs/runbooks/rotating-keys.md'), 'utf8');
    const [, commands = ''] = /```sh\n(kubectl apply[^`]*)```/.exec(page) ?? [];
    const names = workloads.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`).sort();
    const [applied, restarted = '', ...waits] = run('echo "$*"', commands).trim().split('\n');
    expect(applied).toBe('apply -k deploy/kubernetes -l !app.kubernetes.io/component');
    expect(manifestText('secret.yaml')).not.toContain('app.kubernetes.io/component');
    const [, , ...arguments_] = restarted.split(' ');
    expect(arguments_.slice(0, -2).sort()).toEqual(names);
    expect(waits.sort()).toEqual(names.map((name) => `rollout status ${name} -n waymark`));
    // Nothing is restarted with the old keys if the new ones could not be applied.
    expect(run('echo "$1"; [ "$1" != apply ]', commands)).toBe('apply\n');
  });
});

describe('consistency with the code', () => {
  it('every setting is known, and the configuration is valid', () => {
    const environment = { ...config, ...secret };
    expect(Object.keys(environment).filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
    const settings = loadSettings(withSecrets(environment));
    expect(settings.dataDir).toBe(join(ROOT, 'data'));
    const ports = workloads.flatMap(({ spec }) => spec.template.spec.containers[0]?.ports ?? []);
    const expected = { api: settings.apiPort, links: settings.linkPort, health: settings.writerPort };
    for (const { name, containerPort } of ports) expect(containerPort).toBe(expected[name as keyof typeof expected]);
    for (const { spec } of workloads) {
      const grace = spec.template.spec.terminationGracePeriodSeconds ?? 0;
      expect(grace * 1000).toBeGreaterThan(settings.shutdownDeadlineMs + 5_000);
    }
  });

  it('no service starts with a placeholder in the secret, and each placeholder is named', () => {
    const environment = { ...config, ...secret };
    expect(Object.keys(secret).sort()).toEqual(['ADMIN_KEY', 'CLICKHOUSE_PASSWORD', 'INSTANCE_KEY', 'REDIS_URL']);
    for (const [name, value] of Object.entries(secret)) {
      const others = withSecrets(environment);
      expect(() => loadSettings({ ...others, [name]: value })).toThrow(`${name}: still has the placeholder`);
    }
  });

  it('every command is an entry file of this repository', () => {
    for (const { command } of pods.flatMap(containersOf)) {
      expect(command[0]).toBe('node');
      expect(existsSync(join(ROOT, (command[1] ?? '').replace(/dist\/(.*)\.js$/, 'src/$1.ts')))).toBe(true);
    }
  });

  it('every pod waits for the migrations, that of ingest only while ClickHouse can be reached', () => {
    for (const { metadata, spec } of workloads) {
      const [migrated] = spec.template.spec.initContainers ?? [];
      const limits = metadata.name === 'ingest' ? ['--unreachable-seconds', expect.any(String)] : [];
      expect(migrated?.command.slice(2)).toEqual(['migrate', 'wait', ...limits]);
    }
  });

  it('each documented apply of the Job is followed by a wait for its end, joined with &&, because pods start when it fails after the migrations', () => {
    const wait = 'kubectl wait --for=condition=complete job/migrate -n waymark --timeout=10m';
    const blocks = readFileSync(join(ROOT, 'docs/production.md'), 'utf8').match(/```sh\n[^`]*```/g) ?? [];
    const applying = [
      ...blocks.filter(
        (block) => block.includes('delete job migrate') || /apply -k deploy\/kubernetes(?: &&)?\n/.test(block),
      ),
      manifestText('config.yaml'),
      readFileSync(join(ROOT, 'docs/settings.md'), 'utf8'),
    ];
    expect(applying.length).toBeGreaterThan(3);
    for (const text of applying) {
      const commands = text.replaceAll('#', ' ').replaceAll('\\\n', '\n');
      const [applied, waited] = [commands.indexOf('kubectl apply -k'), commands.indexOf(wait)];
      expect([applied >= 0, waited > applied]).toEqual([true, true]);
      const untilWait = commands.slice(applied, waited).split('kubectl ').slice(1);
      for (const command of untilWait) expect(command.trimEnd()).toMatch(/&&$/);
      expect(commands.slice(waited + wait.length)).not.toMatch(/^\n *kubectl/);
    }
  });

  it('every value of the config map that names a store, a host or addresses is marked to be changed', () => {
    const marked = [...manifestText('config.yaml').matchAll(/^ {2}(\w+): .* # change me$/gm)].map(([, name]) => name);
    const own = /_(URL|CLUSTER|DOMAIN|PROXIES)$/;
    expect(marked).toEqual(Object.keys(config).filter((name) => own.test(name)));
  });

  it('each pod of ingest has a volume for its spool, mounted at DATA_DIR', () => {
    const { spec } = named('StatefulSet', 'ingest');
    const [claim] = spec.volumeClaimTemplates ?? [];
    expect(spec.template.spec.containers[0]?.volumeMounts).toEqual([
      { name: claim?.metadata.name, mountPath: '/data' },
    ]);
    expect(manifests.some(({ kind, metadata }) => kind === 'Service' && metadata.name === spec.serviceName)).toBe(true);
  });

  it('every secret is marked to be changed, and is in the secret only', () => {
    const unmarked = manifestText('secret.yaml')
      .split('\n')
      .filter((line) => /change-me|0{64}/.test(line) && !line.endsWith('# change me'));
    expect(unmarked).toEqual([]);
    expect(Object.keys(config).filter((name) => /KEY|PASSWORD|REDIS_URL/.test(name))).toEqual([]);
  });
});

describe('pods', () => {
  it('run as a non-root user, with a read-only file system and without capabilities', () => {
    for (const pod of pods) {
      const { spec } = pod.spec.template;
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(spec.automountServiceAccountToken).toBe(false);
      for (const { securityContext, resources } of containersOf(pod)) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(resources).toMatchObject({
          requests: { cpu: expect.any(String) },
          limits: { memory: expect.any(String) },
        });
      }
    }
  });

  it('have probes; those of ingest stay in service while Redis is down', () => {
    for (const { metadata, spec } of workloads) {
      const [container] = spec.template.spec.containers;
      const port = metadata.name === 'writer' ? 'health' : 'api';
      const ready = metadata.name === 'ingest' ? '/healthz' : '/readyz';
      expect(container?.readinessProbe).toMatchObject({ httpGet: { path: ready, port } });
      for (const probe of [container?.startupProbe, container?.livenessProbe]) {
        expect(probe).toMatchObject({ httpGet: { path: '/healthz', port } });
      }
    }
  });
});
