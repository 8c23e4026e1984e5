import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = ['src', 'workflows', 'activities', 'workers'];
const PURE = ['src/scheduler', 'src/lifecycle', 'src/errors'];

function typescriptFiles(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const lineCount = (text: string) => text.trimEnd().split('\n').length;

const sources = SOURCES.flatMap(typescriptFiles);
const tests = typescriptFiles('test');
const all = [...sources, ...tests, ...typescriptFiles('infra')];

/** The value below which that share of the numbers lies. */
function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
}

interface FunctionLength {
  readonly where: string;
  readonly lines: number;
}

/** From signature to closing brace, without blank lines and lines of comment, as eslint counts. */
function functionLengths(file: string): FunctionLength[] {
  const text = read(file);
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023);
  const isCode = text.split('\n').map((line) => !/^\s*($|\/\/|\/?\*)/.test(line));
  const found: FunctionLength[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const start = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
      const end = source.getLineAndCharacterOfPosition(node.getEnd()).line;
      found.push({ where: `${file}:${start + 1}`, lines: isCode.slice(start, end + 1).filter(Boolean).length });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

describe('the code', () => {
  test('keeps its files short', () => {
    const lengths = sources.map((file) => lineCount(read(file)));
    expect(sources.filter((file) => lineCount(read(file)) > 300)).toEqual([]);
    expect(tests.filter((file) => lineCount(read(file)) > 400)).toEqual([]);
    expect(quantile(lengths, 0.5), 'median').toBeLessThanOrEqual(80);
    expect(quantile(lengths, 0.9), 'ninetieth percentile').toBeLessThanOrEqual(200);
  });

  test('keeps its functions short', () => {
    const lengths = sources.flatMap(functionLengths);
    expect(lengths.filter(({ lines }) => lines > 60)).toEqual([]);
    const lines = lengths.map((one) => one.lines);
    expect(quantile(lines, 0.5), 'median').toBeLessThanOrEqual(10);
    expect(quantile(lines, 0.9), 'ninetieth percentile').toBeLessThanOrEqual(30);
  }, 60_000);

  test('has no any, no enum, no suppressed type error and no debt left in comments', () => {
    const forbidden = /:\s*any\b|\bas any\b|<any>|^\s*(export )?(const )?enum |@ts-(ignore|expect-error|nocheck)/m;
    const debts = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|')})\\b|not implemented`, 'i');
    const own = relative(ROOT, import.meta.filename);
    expect(all.filter((file) => file !== own && forbidden.test(read(file)))).toEqual([]);
    expect(all.filter((file) => file !== own && debts.test(read(file)))).toEqual([]);
  });

  test('leaves no test out', () => {
    const leftOut = /\b(test|it|describe)\.(skip|only|todo|skipIf|runIf|fails)\b/;
    const own = relative(ROOT, import.meta.filename);
    expect(tests.filter((file) => file !== own && leftOut.test(read(file)))).toEqual([]);
  });

  test('names its files in kebab case', () => {
    expect(all.filter((file) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*\.ts$/.test(basename(file)))).toEqual([]);
  });
});

describe('the pure folders', () => {
  const pure = PURE.flatMap(typescriptFiles);

  test('read no clock, no chance and no environment', () => {
    const impure = /\bDate\.now\b|new Date\(\)|\bMath\.random\b|\bprocess\.|\bperformance\.|\bsetTimeout\b/;
    expect(pure.filter((file) => impure.test(read(file)))).toEqual([]);
  });

  test('have a test that reaches each file', () => {
    const reached = new Set<string>();
    const reach = (file: string): void => {
      if (reached.has(file) || !existsSync(join(ROOT, file))) return;
      reached.add(file);
      for (const [, path = ''] of read(file).matchAll(/from '(\.[^']+)\.js'/g)) {
        reach(relative(ROOT, join(ROOT, file, '..', `${path}.ts`)));
      }
    };
    for (const file of tests) reach(file);
    if (tests.some((file) => file.endsWith('.workflow.test.ts'))) reach('workflows/index.ts'); // they run the bundle
    expect(pure.filter((file) => !reached.has(file))).toEqual([]);
  });
});

describe('the workflow bundle', () => {
  test('holds no zod, no pg and no planner', async () => {
    const { build } = await import('esbuild');
    const { metafile } = await build({
      ...{ entryPoints: [join(ROOT, 'workflows/index.ts')], bundle: true, write: false, metafile: true },
      ...{ platform: 'neutral', packages: 'external', absWorkingDir: ROOT, logLevel: 'silent' },
    });
    const inside = Object.keys(metafile.inputs);
    const imported = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
    expect(inside.filter((file) => !/^(workflows|src\/(lifecycle|errors))\//.test(file))).toEqual([]);
    expect(imported.filter((path) => !path.startsWith('@temporalio/'))).toEqual([]);
  });

  test('as built holds none of them either', () => {
    const file = join(ROOT, 'dist/workflow-bundle.js');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    expect(text).not.toMatch(/node_modules\/(zod|pg|kysely)\/|src\/scheduler\//);
  });
});
