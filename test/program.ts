import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const dist = new URL('../', import.meta.url)
const program = fileURLToPath(new URL('program/src/main.js', dist))
const modules = fileURLToPath(new URL('src/main.js', dist))

/** The program as it is installed; its modules, if they were compiled after it was made of them. */
export const brokerProgram = isLast() ? program : modules

function isLast(): boolean {
  const compiled_ms = statSync(new URL('tsconfig.tsbuildinfo', dist), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return existsSync(program) && statSync(program).mtimeMs >= compiled_ms
}
