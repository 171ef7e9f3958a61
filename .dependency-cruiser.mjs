// Imports run in one direction only: services -> packages, and between packages as ROOMS says. No file imports itself by way of others.

/** What the sources of each package may import of ours. */
const ROOMS = {
  contract: [],
  cache: [],
  redis: [],
  'event-query': ['contract'],
  'event-format': ['contract'],
  config: ['contract', 'redis', 'clickhouse'],
  clickhouse: ['contract', 'event-query', 'event-format'],
  'clickhouse-embedded': ['clickhouse', 'config'],
  'event-queue': ['contract', 'cache', 'redis', 'event-format', 'clickhouse'],
  catalog: ['contract', 'cache', 'redis', 'rate-limit', 'event-query', 'event-format', 'clickhouse', 'event-queue'],
  visit: ['contract', 'config'],
  outbound: ['contract'],
  'ops-page': [],
  'browser-script': ['contract'],
  webhooks: ['contract', 'cache', 'redis', 'event-format', 'clickhouse', 'event-queue', 'catalog', 'outbound'],
  'rate-limit': ['contract', 'redis'],
  'http-kit': ['contract', 'cache', 'catalog', 'rate-limit', 'visit'],
  export: ['contract', 'http-kit'],
  jobs: ['contract', 'redis', 'clickhouse', 'catalog', 'http-kit'],
  'record-lists': ['contract', 'catalog', 'export'],
  'link-rules': ['contract', 'catalog', 'event-query', 'record-lists'],
  import: [
    ...[
      'contract',
      'event-query',
      'event-format',
      'clickhouse',
      'event-queue',
      'catalog',
      'visit',
      'link-rules',
      'outbound',
    ],
  ],
  observability: ['contract', 'cache', 'clickhouse', 'event-queue', 'http-kit'],
  bootstrap: ['catalog', 'clickhouse', 'config', 'event-queue', 'http-kit', 'observability', 'rate-limit', 'redis'],
  'test-kit': [
    ...['contract', 'event-query', 'event-format', 'clickhouse', 'clickhouse-embedded', 'event-queue', 'catalog'],
    ...['visit', 'config'],
  ],
};
/** Packages without I/O, and all that they may import from outside. */
const PURE = '^packages/(contract|event-query|event-format)/src/';
const PURE_EXTERNALS = 'zod|date-fns|@date-fns/tz|chrono-node|fastest-levenshtein';
/** Stages of the query compiler; each may import those before it. */
const STAGES = ['parse', 'sql', 'bind', 'plan', 'print'];

const roomRules = Object.entries(ROOMS).map(([room, allowed]) => ({
  name: `imports-of-${room}`,
  comment: `packages/${room} may import of ours: ${allowed.join(', ') || 'nothing'}`,
  severity: 'error',
  from: { path: `^packages/${room}/(src|bin)/` },
  to: { path: '^(packages|services|test|scripts)/', pathNot: `^packages/(${[room, ...allowed].join('|')})/` },
}));

const stageRules = STAGES.slice(0, -1).map((stage, index) => ({
  name: `stage-${stage}`,
  comment: `the compiler's stages run ${STAGES.join(', ')}: ${stage} may not import a later one`,
  severity: 'error',
  from: { path: `^packages/event-query/src/${stage}/` },
  to: { path: `^packages/event-query/src/(${STAGES.slice(index + 1).join('|')})/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
// biome-ignore lint/style/noDefaultExport: dependency-cruiser reads the default export
export default {
  forbidden: [
    {
      name: 'no-circles',
      comment: 'files that import each other cannot be read, moved or tested one by one',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'unknown-room',
      comment: 'every package is listed in ROOMS',
      severity: 'error',
      from: { path: '^packages/', pathNot: `^packages/(${Object.keys(ROOMS).join('|')})/` },
      to: {},
    },
    ...roomRules,
    ...stageRules,
    {
      name: 'no-service-imports-a-service',
      comment: 'only services/standalone runs the others in its process',
      severity: 'error',
      from: { path: '^services/([^/]+)/(src|bin)/', pathNot: '^services/standalone/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'past-the-index',
      comment: 'other rooms are imported through their src/index.ts',
      severity: 'error',
      from: { path: '^((?:packages|services)/[^/]+)/' },
      to: { path: '^(packages|services)/', pathNot: ['^$1/', '^(packages|services)/[^/]+/src/index\\.ts$'] },
    },
    {
      name: 'connections-to-redis',
      comment: 'connectRedis of packages/redis opens them: it follows failovers; types may be imported from ioredis',
      severity: 'error',
      from: { path: '^(packages|services)/[^/]+/(src|bin)/', pathNot: '^packages/(redis|test-kit)/' },
      to: { path: 'node_modules/ioredis/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'test-kit-in-sources',
      comment: 'test-kit is for tests',
      severity: 'error',
      from: { path: '^(packages|services)/[^/]+/(src|bin)/', pathNot: '^packages/test-kit/' },
      to: { path: '^(packages/test-kit|test|(packages|services)/[^/]+/test)/' },
    },
    {
      name: 'pure-externals',
      comment: 'these packages do no I/O',
      severity: 'error',
      from: { path: PURE },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer'],
        pathNot: `node_modules/(${PURE_EXTERNALS})/`,
      },
    },
    {
      name: 'pure-node-modules',
      comment: 'these packages do no I/O',
      severity: 'error',
      from: { path: PURE },
      to: { dependencyTypes: ['core'], pathNot: '^(crypto|url)$' },
    },
    {
      name: 'not-to-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '/dist/'] },
    exclude: { path: ['/dist/', '^node_modules/.cache'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['waymark-source', 'import', 'node', 'default'],
      mainFields: ['module', 'main'],
      extensions: ['.ts', '.d.ts', '.mjs', '.js', '.json'],
    },
    skipAnalysisNotInRules: true,
  },
};
