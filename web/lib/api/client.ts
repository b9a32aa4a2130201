// Every call to the API: paths and answers are typed by what the Python code says (schema.ts).

import type { components, paths } from "@/lib/api/schema";

export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

type GetPath = { [P in keyof paths]: paths[P] extends { get: unknown } ? P : never }[keyof paths];
type Operation<P extends GetPath> = paths[P] extends { get: infer O } ? O : never;
export type AnswerOf<P extends GetPath> =
  Operation<P> extends { responses: { 200: { content: { "application/json": infer A } } } } ? A : never;
type Parameters<P extends GetPath> = Operation<P> extends { parameters: infer X } ? X : never;
type PathOf<P extends GetPath> = Parameters<P> extends { path: infer X } ? X : undefined;
type QueryOf<P extends GetPath> = Parameters<P> extends { query?: infer X } ? X : undefined;

/** What the server said when it had no answer: one line, and its status. Status 0: it did not answer. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = "ApiProblem";
  }
}

export interface Call<P extends GetPath> {
  path?: PathOf<P>;
  query?: QueryOf<P>;
  signal?: AbortSignal;
}

/** The address of a call: also the key under which an answer is remembered. */
export function address<P extends GetPath>(template: P, call: Call<P> = {}): string {
  const filled = Object.entries(call.path ?? {}).reduce(
    (at, [name, value]) => at.replace(`{${name}}`, encodeURIComponent(String(value))),
    template as string,
  );
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const asked = query.toString();
  return asked ? `${filled}?${asked}` : filled;
}

/** Ask; throws ApiProblem. */
export async function get<P extends GetPath>(template: P, call: Call<P> = {}): Promise<AnswerOf<P>> {
  return (await send(address(template, call), { signal: call.signal ?? null })) as AnswerOf<P>;
}

/** Post a document, or delete; throws ApiProblem. */
export async function change<Answer>(method: "POST" | "DELETE", at: string, document?: unknown): Promise<Answer> {
  const body = document === undefined ? null : JSON.stringify(document);
  const headers: HeadersInit = body === null ? {} : { "content-type": "application/json" };
  return (await send(at, { method, body, headers })) as Answer;
}

async function send(at: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(at, { credentials: "same-origin", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiProblem(0, "keepwarm serve does not answer: is it still running?");
  }
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok) return answer;
  const said = (answer as Partial<Schema<"keepwarm_api_schema_library_Problem">> | null)?.problem;
  throw new ApiProblem(response.status, said ?? `the server answered ${response.status}`);
}
