import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT, readManifests } from './lib/manifests.js';
import { hasProgram } from './lib/proxies.js';

/** deploy/prometheus: the configurations name every process, however many there are of each service. */

interface Job {
  readonly authorization: { readonly credentials_file: string };
  readonly dns_sd_configs?: readonly {
    readonly names: readonly string[];
    readonly type: string;
    readonly port: number;
  }[];
  readonly kubernetes_sd_configs?: readonly {
    readonly role: string;
    readonly namespaces: { readonly names: readonly string[] };
  }[];
  readonly relabel_configs?: readonly {
    readonly source_labels: readonly string[];
    readonly regex?: string;
    readonly action?: string;
    readonly target_label?: string;
  }[];
}

const read = (name: string) => readFileSync(join(ROOT, 'deploy/prometheus', name), 'utf8');

/** The only job of a configuration. */
function jobOf(name: string): Job {
  const { rule_files, scrape_configs } = parse(read(name));
  expect(rule_files).toEqual(['alerts.yml']);
  expect(scrape_configs).toHaveLength(1);
  return scrape_configs[0] as Job;
}

it('prometheus.yml has no address that stands for many containers, but looks up all addresses of a name', () => {
  const { dns_sd_configs = [], ...job } = jobOf('prometheus.yml');
  expect(job).not.toHaveProperty('static_configs');
  expect(dns_sd_configs.map(({ type }) => type)).toEqual(['A', 'A']);
});

it.each(['prometheus.yml', 'kubernetes.yml'])('%s has the lines that name an Alertmanager as a comment', (name) => {
  expect(parse(read(name))).not.toHaveProperty('alerting');
  const named = read(name).replace(/^# (alerting:| {2})/gm, '$1');
  expect(parse(named).alerting).toEqual({ alertmanagers: [{ static_configs: [{ targets: ['alertmanager:9093'] }] }] });
  expect(readFileSync(join(ROOT, 'docs/production.md'), 'utf8')).toContain('**Nobody is notified of alerts.**');
});

it('docs/production.md has a configuration for one machine, with the job that the alerts name and the port of the writer', () => {
  const page = readFileSync(join(ROOT, 'docs/production.md'), 'utf8');
  const [, text = ''] = /```yaml\n(rule_files[\s\S]*?)```/.exec(page) ?? [];
  const { scrape_configs } = parse(text);
  const [, port] = /`WRITER_PORT=(\d+)`/.exec(page) ?? [];
  expect(scrape_configs).toMatchObject([
    { job_name: 'waymark', static_configs: [{ targets: ['127.0.0.1:3000', `127.0.0.1:${port}`] }] },
  ]);
  expect(read('alerts.yml')).toContain('up{job="waymark"}');
});

describe('kubernetes.yml', () => {
  it('looks at the pods of the namespace of the manifests', () => {
    const [namespace] = readManifests().filter(({ kind }) => kind === 'Namespace');
    expect(jobOf('kubernetes.yml').kubernetes_sd_configs).toEqual([
      { role: 'pod', namespaces: { names: [namespace?.metadata.name] } },
    ]);
  });

  it('keeps one target of each pod of ours, with the name of the pod', () => {
    const rules = jobOf('kubernetes.yml').relabel_configs ?? [];
    const workloads = readManifests().filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind));
    const kept = workloads.flatMap(({ metadata, spec }) =>
      spec.template.spec.containers.flatMap(({ ports = [] }) =>
        ports
          .map(({ name }) => ({
            __meta_kubernetes_pod_label_app_kubernetes_io_name: spec.template.metadata.labels['app.kubernetes.io/name'],
            __meta_kubernetes_pod_container_port_name: name,
            __meta_kubernetes_pod_name: metadata.name,
          }))
          .filter((target: Record<string, string | undefined>) =>
            rules
              .filter(({ action }) => action === 'keep')
              .every(({ source_labels: [label = ''], regex }) =>
                new RegExp(`^(?:${regex})$`).test(target[label] ?? ''),
              ),
          )
          .map((target) => target.__meta_kubernetes_pod_name),
      ),
    );
    expect(kept.sort()).toEqual(['ingest', 'management', 'query', 'writer']);
    const dropped = rules.filter(({ action }) => action === 'drop');
    expect(dropped).toEqual([
      { source_labels: ['__meta_kubernetes_pod_phase'], regex: 'Failed|Succeeded', action: 'drop' },
    ]);
    expect(rules.find(({ target_label }) => target_label === 'instance')?.source_labels).toEqual([
      '__meta_kubernetes_pod_name',
    ]);
  });
});

it.skipIf(!hasProgram('promtool', '--version'))('alerts fire for the series of alerts.test.yml as listed there', () => {
  const file = join(import.meta.dirname, 'lib/alerts.test.yml');
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  expect(status, `${stdout}${stderr}`).toBe(0);
});

it('nginx of docker-compose.yml looks up the names of scaled services again', () => {
  const conf = readFileSync(join(ROOT, 'deploy/docker/nginx.conf'), 'utf8');
  const upstreams = [...conf.matchAll(/upstream (\w+) \{([^}]*)\}/g)];
  expect(upstreams).toHaveLength(4);
  for (const [, name, body] of upstreams)
    expect(body).toMatch(new RegExp(`zone ${name} \\w+; server \\w+:\\d+ resolve;`));
  expect(conf).toMatch(/^ {2}resolver 127\.0\.0\.11 valid=5s/m);
  const image = /nginx-unprivileged:(\d+)\.(\d+)/.exec(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'));
  // Free nginx has `resolve` since 1.27.3.
  expect(Number(image?.[1]) * 1000 + Number(image?.[2])).toBeGreaterThanOrEqual(1028);
});
