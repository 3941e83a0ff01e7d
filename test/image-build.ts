import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DockerfileParser } from 'dockerfile-ast'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** One instruction of the Dockerfile. */
export interface Step {
  /** In capital letters. */
  readonly keyword: string
  /** All behind the keyword, as it is written. */
  readonly text: string
  /** The words of it, without flags such as `--from=build`. */
  readonly words: readonly string[]
  readonly flags: Readonly<Record<string, string>>
}

/** The text of the Dockerfile. */
export const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')

/** The instructions of each stage, the one that names its base first. */
export function stages(): readonly (readonly Step[])[] {
  const all: Step[][] = [[]]
  for (const instruction of DockerfileParser.parse(dockerfile).getInstructions()) {
    const written = instruction.getArguments().map((argument) => argument.getValue())
    const flags = written.filter((word) => word.startsWith('--'))
    const step = {
      keyword: instruction.getKeyword(),
      text: (instruction.getArgumentsContent() ?? '').replace(/\\\n\s*/g, ''),
      words: written.filter((word) => !word.startsWith('--')),
      flags: Object.fromEntries(
        flags.map((flag) => flag.slice(2).split('=')).map(([name, value]) => [name, value ?? '']),
      ),
    }
    if (step.keyword === 'FROM') all.push([step])
    else all.at(-1)?.push(step)
  }
  return all
}

/** The stage that the image is. */
export function finalStage(): readonly Step[] {
  return stages().at(-1) ?? []
}

/** The words that an instruction of the final stage has as JSON. */
export function execForm(keyword: string): readonly string[] {
  const { text = '' } = finalStage().findLast((step) => step.keyword === keyword) ?? {}
  const words: unknown = JSON.parse(text.slice(text.indexOf('[')))
  if (Array.isArray(words) && words.every((word) => typeof word === 'string')) return words
  throw new Error(`${keyword} has no words in JSON`)
}

/** The variables that the image sets. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const words = finalStage()
    .filter(({ keyword }) => keyword === 'ENV')
    .flatMap((step) => step.words)
  return Object.fromEntries(words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]))
}

/** What .dockerignore leaves of the sources: it leaves out everything but what it names. */
export function contextNames(): readonly string[] {
  const rules = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')
  const [first, ...names] = rules.filter((rule) => rule !== '' && !rule.startsWith('#'))
  if (first !== '*' || !names.every((name) => /^![\w./-]+$/.test(name)))
    throw new Error('.dockerignore is no list of names')
  return names.map((name) => name.slice(1))
}

/** The folders that stand for the places of an image. */
interface Places {
  /** Its `/rigel`. */
  readonly tree: string
  /** Its `/data`. */
  readonly data: string
}

/**
 * Builds the image as an engine would, each stage in a folder of its own: copies what it copies, runs what it runs. The base image is the
 * system of the test.
 */
export function buildImage(folder: string, commit: string): Places {
  const context = join(folder, 'context')
  for (const name of contextNames()) cpSync(join(root, name), join(context, name), { recursive: true })
  const [, build = [], final = []] = stages()
  const built = join(folder, 'build')
  const env = { ...process.env, COMMIT: commit }
  for (const { keyword, text, words } of build) {
    if (keyword === 'COPY') copy(words, context, built)
    else if (keyword === 'RUN')
      execFileSync('sh', ['-c', text], { cwd: built, env, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const [tree, data] = [join(folder, 'rigel'), join(folder, 'data')]
  for (const { words } of final.filter(({ keyword }) => keyword === 'COPY')) {
    const [from = '', to] = words
    if (to === '/data') cpSync(from.replace('/rigel', built), data, { recursive: true })
    else
      copy(
        words.map((word) => word.replace(/^\/rigel\//, '')),
        built,
        tree,
      )
  }
  return { tree, data }
}

function copy(words: readonly string[], from: string, to: string): void {
  const target = join(to, words.at(-1) ?? '')
  mkdirSync(to, { recursive: true })
  for (const name of words.slice(0, -1)) {
    const isInto = words.at(-1)?.endsWith('/') === true
    cpSync(join(from, name), isInto ? join(target, basename(name)) : target, { recursive: true })
  }
}
