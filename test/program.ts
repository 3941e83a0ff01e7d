import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const dist = new URL('../', import.meta.url)
const program = fileURLToPath(new URL('program/src/main.cjs', dist))
const modules = fileURLToPath(new URL('src/main.js', dist))

/** The program as it is installed; its modules, if they were compiled after it was made of them. */
export const brokerProgram = isLast() ? program : modules

/**
 * The arguments of a shell that becomes Node with these words, so that signals reach it, without what the runner of the tests has every
 * Node process load: that takes more of a start than the program does, and writes files at the end.
 */
export function nodeBySh(words: readonly string[], before = ''): readonly string[] {
  return ['-c', `${before}unset NODE_OPTIONS; exec "$@"`, 'sh', process.execPath, ...words]
}

function isLast(): boolean {
  const compiled_ms = statSync(new URL('tsconfig.tsbuildinfo', dist), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return existsSync(program) && statSync(program).mtimeMs >= compiled_ms
}
