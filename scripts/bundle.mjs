// `node scripts/bundle.mjs`, run by `npm run build` after the compiler: bundles each process into its compiled entry file, with the
// packages it imports. Node then reads and links a dozen files at a start instead of 1,700. Only files that changed are written.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';

/** Entry files of processes, without `src/` and `.ts`. */
const ENTRIES = [
  'packages/clickhouse-embedded/main',
  'services/cli/main',
  'services/ingest/main',
  'services/management/main',
  'services/query/main',
  'services/standalone/http',
  'services/standalone/main',
  'services/standalone/redis-guard',
  'services/writer/delivery-main',
  'services/writer/main',
];
/** Where code of several entries goes, and code that is loaded on demand; as deep in the tree as the entries, for `moduleUrls`. */
const CHUNKS = 'packages/bootstrap/dist';
const CHUNK_PREFIX = 'bundle-';
/** Read files beside their own modules, or load native code. */
const UNBUNDLED = ['@bull-board/*', 'chdb', 'uplot'];

const root = join(import.meta.dirname, '..');
const compiled = (source) => source.replace('/src/', '/dist/').replace(/\.ts$/, '.js');

/** Keeps the meaning of `import.meta.url` in our modules: the address of the compiled module, not of the bundle. */
const moduleUrls = {
  name: 'module-urls',
  setup(builder) {
    builder.onLoad({ filter: /\/(?:packages|services)\/[^/]+\/src\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const url = `new URL(${JSON.stringify(`../../../${compiled(relative(root, path))}`)}, import.meta.url).href`;
      return { contents: text.replaceAll('import.meta.url', url), loader: 'ts' };
    });
  },
};

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: ENTRIES.map((entry) => ({
    in: `${dirname(entry)}/src/${entry.split('/').at(-1)}.ts`,
    out: `${dirname(entry)}/dist/${entry.split('/').at(-1)}`,
  })),
  outdir: '.',
  chunkNames: `${CHUNKS}/${CHUNK_PREFIX}[name]-[hash]`,
  bundle: true,
  splitting: true,
  write: false,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  conditions: ['waymark-source'],
  external: UNBUNDLED,
  plugins: [moduleUrls],
  // CommonJS packages call `require`.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);",
  },
  logLevel: 'warning',
});

const written = new Set(outputFiles.map(({ path }) => relative(root, path)));
for (const { path, text } of outputFiles) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
for (const name of readdirSync(CHUNKS)) {
  if (name.startsWith(CHUNK_PREFIX) && !written.has(join(CHUNKS, name))) rmSync(join(CHUNKS, name));
}
