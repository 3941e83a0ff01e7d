import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import recheck from 'recheck'
import ts from 'typescript'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** A regular expression of the sources. */
export interface SourcePattern {
  /** Its file, as a path from the top of the repository, and its line. */
  readonly place: string
  readonly source: string
  readonly flags: string
}

/** What a file makes regular expressions of. */
export interface FilePatterns {
  readonly file: string
  readonly literals: readonly SourcePattern[]
  /** How many `new RegExp` there are that run when the module is loaded. */
  readonly loaded: number
  /** Where regular expressions are made later, from whatever the program has then. */
  readonly later: readonly string[]
}

/** All files of folders of the repository that are compiled. */
export function sourcesIn(...folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.[cm]?[jt]sx?$/.test(path))
      .map((path) => join(root, folder, path)),
  )
}

/** The libraries' files that were read for one program, for the next one. */
const libraries = new Map<string, ts.SourceFile | undefined>()

/** The program of these files, with their types. */
export function programOf(files: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], references: [], files: [] }, ts.sys, root)
  const complete: ts.CompilerOptions = {
    ...options,
    noEmit: true,
    incremental: false,
    jsx: ts.JsxEmit.ReactJSX,
    jsxImportSource: 'preact',
    lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts', 'lib.es2024.sharedmemory.d.ts', 'lib.dom.d.ts'],
  }
  const host = ts.createCompilerHost(complete)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (name, ...how) => {
    if (!name.includes('/node_modules/')) return read(name, ...how)
    if (!libraries.has(name)) libraries.set(name, read(name, ...how))
    return libraries.get(name)
  }
  return ts.createProgram(files, complete, host)
}

/** The regular expressions of a file: every literal, and where others are made. */
export function patternsIn(program: ts.Program, file: string): FilePatterns {
  const tree = program.getSourceFile(file)
  if (tree === undefined) throw new Error(`${file} is not compiled`)
  const types = program.getTypeChecker()
  const path = relative(root, file)
  const literals: SourcePattern[] = []
  const later: string[] = []
  let loaded = 0
  const visit = (node: ts.Node, isLater: boolean): void => {
    const place = `${path}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      literals.push({ place, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    } else if (makesPattern(node)) {
      if (isLater) later.push(place)
      else loaded += 1
    } else if (searchesByText(node, types)) later.push(place)
    ts.forEachChild(node, (child) => visit(child, isLater || ts.isFunctionLike(node)))
  }
  visit(tree, false)
  return { file, literals, loaded, later }
}

function makesPattern(node: ts.Node): boolean {
  return (
    (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
    /^(?:globalThis\.)?RegExp$/.test(node.expression.getText())
  )
}

/** `match`, `matchAll` and `search` of a text make a regular expression of what they get, if it is none. */
function searchesByText(node: ts.Node, types: ts.TypeChecker): boolean {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false
  const { expression: searched, name } = node.expression
  if (!['match', 'matchAll', 'search'].includes(name.text) || !isText(types.getTypeAtLocation(searched))) return false
  const [pattern] = node.arguments
  return pattern === undefined || types.getTypeAtLocation(pattern).symbol?.name !== 'RegExp'
}

function isText(type: ts.Type): boolean {
  return (
    (type.flags & (ts.TypeFlags.StringLike | ts.TypeFlags.Any)) !== 0 ||
    (type.isUnionOrIntersection() && type.types.some(isText))
  )
}

/** The regular expressions that modules make when they are loaded, by the file that makes them. */
export async function loadedPatterns(files: readonly string[]): Promise<ReadonlyMap<string, readonly SourcePattern[]>> {
  const made = new Map<string, SourcePattern[]>(files.map((file) => [file, []]))
  const { RegExp: real } = globalThis
  globalThis.RegExp = new Proxy(real, {
    construct: (target, given, newTarget) => {
      const pattern: RegExp = Reflect.construct(target, given, newTarget)
      const file = callerOf(new Error('made here').stack ?? '')
      made.get(file)?.push({ place: relative(root, file), source: pattern.source, flags: pattern.flags })
      return pattern
    },
  })
  try {
    for (const file of files) await import(pathToFileURL(compiled(file)).href)
  } finally {
    globalThis.RegExp = real
  }
  return made
}

function compiled(file: string): string {
  return join(root, 'dist', relative(root, file).replace(/\.ts$/, '.js'))
}

/** The source of the module that called, with or without the maps of sources that the runner of the tests turns on. */
function callerOf(stack: string): string {
  const called = stack.split('\n').find((line) => /\/(?:src|workers)\/[^:]*:\d+/.test(line)) ?? ''
  const [, path = ''] = /\/((?:src|workers)\/[^:]*)\.[jt]s:\d+/.exec(called) ?? []
  return join(root, `${path}.ts`)
}

export type Verdict = 'linear' | 'superlinear' | 'unknown'

// The package would also start programs that come with it: what counts here needs nothing but Node.
process.env['RECHECK_SYNC_BACKEND'] = 'pure'

/** Long enough for a pattern that takes the checker ten seconds on a machine that is idle. Texts are judged by steps, never by time. */
const limits = { timeout: 100_000, attackTimeout: null, incubationTimeout: null, maxNFASize: 1_000_000 }

/**
 * Whether a search for a pattern takes time in proportion to the text, whatever the text is. `proof` is by its automaton; it is
 * unknown for what is no regular language (backreferences, lookarounds of many characters) and for what has too many states. `search`
 * looks for a text that takes longer: it can miss one.
 */
export function verdictOn({ source, flags }: SourcePattern, by: 'proof' | 'search'): Verdict {
  const checker = by === 'proof' ? 'automaton' : 'fuzz'
  const { status } = recheck.checkSync(source, flags, { checker, ...limits })
  return status === 'safe' ? 'linear' : status === 'vulnerable' ? 'superlinear' : 'unknown'
}
