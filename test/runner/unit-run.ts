import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { Parser, type Result } from 'tap-parser'
import type { Unit } from './plan.js'

/** The variable that says which files a unit runs. */
export const filesOfUnit = 'RIGEL_TEST_FILES'

/** Opens the comment by which a unit says whose tests follow. */
export const fileMark = 'file '

/** One assertion that failed, or a process that ended badly. */
export interface Failure {
  /** The compiled file, from the root of the project. */
  readonly file: string
  /** The names of the tests that the assertion stands in, and its own. */
  readonly name: string
  /** What was found and wanted, as the stream of the tests has it. */
  readonly details: string
}

/** What came of the files that ran in one process. */
export interface UnitResult {
  readonly unit: Unit
  readonly passed: number
  readonly skipped: number
  readonly failures: readonly Failure[]
  readonly duration_ms: number
}

/** Where the streams of the tests are kept. */
export const streams = join('.tap', 'streams')

/** Opens the line on standard error by which a unit that is ended says what is under way. */
export const underWayMark = 'under way: '

/** How long a unit may take to say what is under way. */
const patience_ms = 3000

const entry = fileURLToPath(new URL('./unit.js', import.meta.url))

/** How much of what a process wrote besides its tests stands beside a failure of the process itself. */
const shownErrors = 4000

/**
 * Runs the files of a unit in a process of their own and reads the stream of their tests. If one of the files takes longer than the limit,
 * the process is ended with all that it started, and the file fails; 0 is no limit.
 */
export async function runUnit(unit: Unit, limit_ms: number, stopped: AbortSignal): Promise<UnitResult> {
  const start_ms = performance.now()
  // A group of its own, so that the programs that a killed test started end with it.
  const child = spawn(process.execPath, [entry], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      ...process.env,
      [filesOfUnit]: unit.files.join(delimiter),
      // The limit is kept here.
      TAP_TIMEOUT: '0',
      // The unit removes the folders of the tests.
      TAP_SAVE_FIXTURE: '1',
    },
  })
  const { pid } = child
  const killAll = () => pid !== undefined && killGroup(pid)
  const isOver = () => {
    reader.endedBy(`the process was ended after ${limit_ms / 1000} s, the limit of a file`)
    // It says what is under way, if it can.
    child.kill('SIGTERM')
    late = setTimeout(killAll, patience_ms)
  }
  let late: NodeJS.Timeout | undefined
  const timer = limit_ms > 0 ? setTimeout(isOver, limit_ms) : undefined
  const reader = new StreamReader(unit.files[0] ?? '', () => timer?.refresh())
  stopped.addEventListener('abort', killAll, { once: true })
  const path = join(streams, `${unit.name.replaceAll('/', '-')}.tap`)
  mkdirSync(dirname(path), { recursive: true })
  const kept = createWriteStream(path)
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    kept.write(chunk)
    reader.take(chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    kept.write(chunk)
    errors = `${errors}${chunk.toString()}`.slice(-shownErrors)
  })
  const [code, signal] = await new Promise<readonly [number | null, NodeJS.Signals | null]>((resolved) =>
    child.once('close', (...ended) => resolved(ended)),
  )
  clearTimeout(timer)
  clearTimeout(late)
  stopped.removeEventListener('abort', killAll)
  killAll()
  kept.end()
  await finished(kept)
  const read = await reader.end(code, signal, errors)
  return { unit, ...read, duration_ms: performance.now() - start_ms }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (fault) {
    if (!(fault instanceof Error && 'code' in fault && fault.code === 'ESRCH')) throw fault
  }
}

/** Reads a stream of tests: which file each belongs to, and what failed. */
class StreamReader {
  readonly #parser = new Parser()
  readonly #failures: Failure[] = []
  #file: string
  #passed = 0
  #skipped = 0
  #cause: string | undefined
  /** The names of the tests that have begun and not ended, the outer ones first. */
  #underWay: readonly string[] = []

  /** Begins with a file; `begins` is called for each one. */
  constructor(file: string, begins: () => void) {
    this.#file = file
    this.#parser.on('comment', (text: string) => {
      const comment = text.replace(/^# /, '').trimEnd()
      if (!comment.startsWith(fileMark)) return
      this.#file = comment.slice(fileMark.length)
      begins()
    })
    this.#watch(this.#parser, [])
  }

  take(chunk: Buffer): void {
    this.#parser.write(chunk)
  }

  /** Why the process is about to end otherwise than by itself. */
  endedBy(cause: string): void {
    this.#cause ??= cause
  }

  async end(
    code: number | null,
    signal: NodeJS.Signals | null,
    errors: string,
  ): Promise<Pick<UnitResult, 'passed' | 'skipped' | 'failures'>> {
    // The end of the stream ends all tests.
    const line = errors.split('\n').find((line) => line.startsWith(underWayMark))
    const underWay = line === undefined ? this.#underWay : [line.slice(underWayMark.length)]
    const cut = [...underWay, this.#cause ?? `the process ended with ${signal ?? code}`]
    const complete = new Promise((resolved) => this.#parser.once('complete', resolved))
    this.#parser.end()
    await complete
    const failed = code !== 0 && (this.#failures.length === 0 || signal !== null)
    if (failed || this.#cause !== undefined) {
      this.#failures.push({ file: this.#file, name: cut.join(' > '), details: errors })
    } else if (this.#passed + this.#skipped + this.#failures.length === 0) {
      this.#failures.push({ file: this.#file, name: 'no test ran', details: errors })
    }
    return { passed: this.#passed, skipped: this.#skipped, failures: this.#failures }
  }

  /** Counts the assertions at the ends of the tree of tests. A test counts itself when it has none, or failed although none of them did. */
  #watch(parser: Parser, names: readonly string[]): void {
    let before: Counts | undefined
    parser.on('child', (child: Parser) => {
      before = this.#counts()
      this.#underWay = [...names, child.name]
      child.once('complete', () => {
        this.#underWay = names
      })
      this.#watch(child, [...names, child.name])
    })
    parser.on('assert', (result: Result) => {
      const now = this.#counts()
      const [counted, failed] = before === undefined ? [0, 0] : [now.all - before.all, now.failed - before.failed]
      before = undefined
      if (counted > 0 && (result.ok || failed > 0)) return
      if (result.skip || result.todo) this.#skipped += 1
      else if (result.ok) this.#passed += 1
      else this.#failures.push(failureOf(this.#file, [...names, result.name], result))
    })
  }

  #counts(): Counts {
    const failed = this.#failures.length
    return { failed, all: this.#passed + this.#skipped + failed }
  }
}

interface Counts {
  readonly all: number
  readonly failed: number
}

function failureOf(file: string, names: readonly string[], { diag }: Result): Failure {
  return { file, name: names.join(' > '), details: diag === undefined || diag === null ? '' : detailsOf(diag) }
}

/** What helps to find the cause: where, and what differed. */
function detailsOf(diag: object): string {
  return Object.entries(diag)
    .filter(([name]) => !['source', 'stack'].includes(name))
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')
}
