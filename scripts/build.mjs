// `npm run build`: compiles every source file into the `dist` of its room, and bundles each process into its entry file there, with the
// packages it imports. Node then reads and links a dozen files at a start instead of 1,700. Only files that changed are written. Types are
// not checked here, but by `npm run typecheck`: that takes ten times as long, and a start does not need it.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/**
 * Entry files of processes, without `src/` and `.ts`. Those of services share code: a module that one of them uses is loaded by all that
 * use its neighbours.
 */
const SERVICES = [
  'services/cli/main',
  'services/ingest/main',
  'services/management/main',
  'services/query/main',
  'services/standalone/http',
  'services/standalone/prepare',
  'services/writer/delivery-main',
  'services/writer/main',
];
/** Entry files that need little of what they import. Each has a bundle of its own, without the rest, so that these processes stay small. */
const SMALL = ['packages/clickhouse-embedded/main', 'services/standalone/main', 'services/standalone/redis-guard'];
const ENTRIES = [...SERVICES, ...SMALL];
/** Where code of several entries goes, and code that is loaded on demand; as deep in the tree as the entries, for `moduleUrls`. */
const CHUNKS = 'packages/bootstrap/dist';
const CHUNK_PREFIX = 'bundle-';
/** Lines are wrapped at this length, so that the positions in stack traces are useful. */
const LINE_CHARS = 160;
/** esbuild escapes strings; what is left is in regular expressions and tagged templates, where an escape means the same. */
const NOT_ASCII = /[^\0-\x7f]/g;
const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
/** The room whose modules are sent to browsers, each as a file of its own. */
const BROWSER_ROOM = 'packages/ops-page';
/** The room of the script for pages of other sites: one bundle for each choice of these features. */
const SCRIPT_ROOM = 'packages/browser-script';
const SCRIPT_FEATURES = ['site-visit', 'outbound-domains', 'conversion-tracking'];
/** Packages that read files beside their own modules, or load native code. */
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

/** Every module of a room on its own, for tests and for browsers; the entry files are written by the bundles. */
async function compileRoom(room) {
  const modules = readdirSync(join(root, room, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !ENTRIES.includes(`${room}/${file.slice(0, -'.ts'.length)}`))
    .map((file) => `${room}/src/${file}`);
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: modules,
    outbase: `${room}/src`,
    outdir: `${room}/dist`,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'es2023',
    sourcemap: room === BROWSER_ROOM ? false : 'linked',
    logLevel: 'warning',
  });
  return outputFiles;
}

/** The variants of the browser script, each also compressed at the highest level, so that no request has to compress it. */
async function bundleScripts() {
  const choices = Array.from({ length: 2 ** SCRIPT_FEATURES.length }, (_, chosen) =>
    SCRIPT_FEATURES.map((feature, index) => ({ feature, isIncluded: (chosen >> index) % 2 === 1 })),
  );
  const bundles = await Promise.all(
    choices.map((features) =>
      build({
        absWorkingDir: root,
        entryPoints: [`${SCRIPT_ROOM}/src/page/main.ts`],
        outfile: `${SCRIPT_ROOM}/dist/variants/${['script', ...features.filter(({ isIncluded }) => isIncluded).map(({ feature }) => feature), 'js'].join('.')}`,
        define: Object.fromEntries(
          features.map(({ feature, isIncluded }) => [feature.toUpperCase().replace('-', '_'), String(isIncluded)]),
        ),
        bundle: true,
        minify: true,
        write: false,
        format: 'iife',
        target: 'es2020',
        logLevel: 'warning',
      }),
    ),
  );
  return bundles.flatMap(({ outputFiles: [{ path, contents }] }) => [
    { path, contents },
    { path: `${path}.br`, contents: brotliCompressSync(contents) },
    { path: `${path}.gz`, contents: gzipSync(contents, { level: 9 }) },
  ]);
}

const rooms = ['packages', 'services'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .map((name) => `${folder}/${name}`)
    .filter((room) => existsSync(join(root, room, 'src'))),
);
const modules = (await Promise.all(rooms.map(compileRoom))).flat();

/** Bundles of entries, which share what several of them use. */
async function bundleEntries(entries) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: entries.map((entry) => ({
      in: `${dirname(entry)}/src/${entry.split('/').at(-1)}.ts`,
      out: `${dirname(entry)}/dist/${entry.split('/').at(-1)}`,
    })),
    outdir: '.',
    chunkNames: `${CHUNKS}/${CHUNK_PREFIX}[name]-[hash]`,
    bundle: true,
    splitting: true,
    // V8 holds the text of every module it runs, in two bytes a character if one of them is not of Latin-1. Comments are half of the text.
    minifyWhitespace: true,
    lineLimit: LINE_CHARS,
    legalComments: 'external',
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
  return outputFiles.map(({ path, text }) => ({
    path,
    contents: Buffer.from(path.endsWith('.js') ? text.replace(NOT_ASCII, escaped) : text),
  }));
}

const bundles = (await Promise.all([SERVICES, ...SMALL.map((entry) => [entry])].map(bundleEntries))).flat();

const written = new Set(bundles.map(({ path }) => relative(root, path)));
for (const { path, contents } of [...modules, ...bundles, ...(await bundleScripts())]) {
  if (existsSync(path) && readFileSync(path).equals(contents)) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
}
for (const name of readdirSync(join(root, CHUNKS))) {
  if (name.startsWith(CHUNK_PREFIX) && !written.has(join(CHUNKS, name))) rmSync(join(root, CHUNKS, name));
}
