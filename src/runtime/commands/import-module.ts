/** Loads a module that is not part of the program. The bundler puts what `scripts/program/load.cjs` gives in place of this. */
export function importModule(url: URL): Promise<unknown> {
  return import(url.href)
}
