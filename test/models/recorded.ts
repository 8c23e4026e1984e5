import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One request to the real vLLM and what it answered, as `infra/vllm/record.mjs` wrote it down. */
export interface Recorded {
  readonly request: { readonly method: string; readonly path: string; readonly body?: unknown };
  readonly response: { readonly status: number; readonly contentType: string | null; readonly text: string };
}

const FOLDER = join(import.meta.dirname, 'recorded', 'vllm-0.32.0');

export const recordedNames: readonly string[] = readdirSync(FOLDER).map((file) => file.replace(/\.json$/, ''));

export const recorded = (name: string): Recorded =>
  JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')) as Recorded;

/** The form of a value without its content: `{"a":[1,null]}` → `{a:[number,null]}`. A list is the form of its first. */
export function formOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${formOf(value[0])}]`;
  if (typeof value !== 'object') return typeof value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${name}:${formOf(field)}`).join(',')}}`;
}

const isAnswered = (event: string): boolean => event !== '';

/** The form of a stream: each event's, with runs of the same form told once. */
export function streamForm(text: string): readonly string[] {
  const events = text.split('\n\n').filter(isAnswered);
  const forms = events.map((event) => {
    const data = event.replace(/^data: /, '');
    return data === '[DONE]' ? data : formOf(JSON.parse(data));
  });
  return forms.filter((form, place) => form !== forms[place - 1]);
}

/** The names of the samples of a scrape, with the names of their labels: `vllm:x{engine,model_name}`. */
export function sampleNames(text: string): ReadonlySet<string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Set(lines.map((line) => line.replace(/ \S+$/, '').replace(/="[^"]*"/g, '')));
}
