import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './manifests.js';

/**
 * The compiler errors for values written as literals of a type: missing fields, wrong types, and fields that the
 * type does not have, at every depth. Kubernetes' own schema allows unknown fields, and its server drops them in silence.
 *
 * @param values by name of a type and the module that exports it
 * @returns faults, none when everything fits
 */
export function typeFaults(values: readonly { module: string; type: string; value: unknown }[]): string[] {
  const lines = values.map(
    ({ module, type, value }, index) =>
      `import type { ${type} as T${index} } from '${module}';\nexport const v${index}: T${index} = ${JSON.stringify(value)};`,
  );
  const file = join(ROOT, 'test/deploy/manifests-under-test.ts');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
  };
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, getSourceFile } = host;
  const text = lines.join('\n');
  host.fileExists = (name) => name === file || fileExists.call(host, name);
  host.readFile = (name) => (name === file ? text : readFile.call(host, name));
  host.getSourceFile = (name, version, ...rest) =>
    name === file ? ts.createSourceFile(name, text, version) : getSourceFile.call(host, name, version, ...rest);
  const program = ts.createProgram([file], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
