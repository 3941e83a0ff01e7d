import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import ts from 'typescript'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Loops that pause, or that ask again, and wait for nothing that may not come about. */
const allowed: Readonly<Record<string, string>> = {
  'test/until.ts': 'has the limit of all of them',
  'test/cluster/broken-proxy.ts': 'is told when bytes may go on, and the test says when',
  'test/cluster/failures.system.test.ts': 'rounds of faults, over when a promise was broken',
  'test/delivery/streams.test.ts': 'a client in this thread takes what has been sent to it',
  'test/lmdb/killed-process.ts': 'a process that goes on until it is killed',
  'test/lmdb/power-cut-process.ts': 'a process that goes on until it is killed',
  'test/replica/played-log-thread.ts': 'the clock of the simulation is the limit',
  'test/replica/played-nodes.ts': 'the clock of the simulation is the limit',
}

/** What lets time pass: names of `node:timers/promises`, whatever they are called where they are used. */
const timers: ReadonlySet<string> = new Set(['setTimeout', 'setImmediate', 'setInterval', 'nextTick', 'waitForTimeout'])

/** A source without such a loop, or with nothing for its `for` to pause by, is not worth parsing. */
const suspicious = /\bwhile \(|^\s*do\b/m
const suspiciousFor = /\bfor \((?!const [^=]* of )/
const pauses = new RegExp([...timers].join('|'))

/**
 * The loops of a source that wait: a `while` or `do` that awaits anything, and a `for` that awaits a pause and is not over after a number
 * of rounds, whatever happens in them. What goes on until `isOver` is a load, which the test ends itself.
 */
function waitsIn(text: string): readonly string[] {
  const isSuspicious = suspicious.test(text) || (suspiciousFor.test(text) && pauses.test(text))
  if (!isSuspicious || !text.includes('await ')) return []
  const source = ts.createSourceFile('source.tsx', text, ts.ScriptTarget.Latest, true)
  const pausing = pausingNames(source)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isIterationStatement(node, false) && !isLoad(node) && isWait(node, pausing)) {
      found.push(`${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function isWait(loop: ts.IterationStatement, pausing: ReadonlySet<string>): boolean {
  const awaited = own(loop).filter(ts.isAwaitExpression)
  if (ts.isWhileStatement(loop) || ts.isDoStatement(loop)) return awaited.length > 0
  const isPausing = awaited.some(({ expression }) => mentions(expression, pausing))
  return isPausing && ts.isForStatement(loop) && !isCount(loop)
}

/** Whether nothing but the number of its rounds ends a loop. */
function isCount(loop: ts.ForStatement): boolean {
  const isLess = loop.condition !== undefined && /^\w+ <=? [^&|?]+$/.test(loop.condition.getText())
  return isLess && !own(loop).some((node) => ts.isBreakStatement(node) || ts.isReturnStatement(node))
}

function isLoad(loop: ts.IterationStatement): boolean {
  const condition = ts.isForStatement(loop) ? loop.condition : 'expression' in loop ? loop.expression : undefined
  return condition !== undefined && /(^|&& )![\w.#]*\bisOver\b/.test((condition as ts.Expression).getText())
}

/** What is in a node, without functions that are written there. */
function own(node: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = []
  const visit = (child: ts.Node): void => {
    if (ts.isFunctionLike(child)) return
    found.push(child)
    ts.forEachChild(child, visit)
  }
  ts.forEachChild(node, visit)
  return found
}

function mentions(node: ts.Node, names: ReadonlySet<string>): boolean {
  if (ts.isIdentifier(node) && names.has(node.text)) return true
  return ts.forEachChild(node, (child) => mentions(child, names)) ?? false
}

/** The names by which a source lets time pass: imported ones, and its own functions that do nothing else. */
function pausingNames(source: ts.SourceFile): ReadonlySet<string> {
  const names = new Set(timers)
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) {
      const { importClause, moduleSpecifier } = statement
      const bindings = importClause?.namedBindings
      if (moduleSpecifier.getText().includes('timers/promises') && bindings && ts.isNamedImports(bindings))
        for (const { name } of bindings.elements) names.add(name.text)
    }
    if (ts.isFunctionDeclaration(statement) && statement.name && statement.body?.statements.length === 1) {
      if (mentions(statement.body, names)) names.add(statement.name.text)
    }
  }
  return names
}

test('no test waits but by until(), which has a limit and says what it waited for', async (t) => {
  const files = readdirSync(join(root, 'test'), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  t.ok(files.length > 400, 'the tests are there')
  for (const file of files) {
    const found = waitsIn(readFileSync(join(root, file), 'utf8'))
    if (allowed[file] === undefined) t.same(found, [], `${file}: lines of loops that wait`)
    else t.not(found.length, 0, `${file} still does: ${allowed[file]}`)
  }
})

test('loops that wait are found in a source, and loads, counts and streams are not', async (t) => {
  const imported = "import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'\n"
  const own = 'function settled(): Promise<void> { return new Promise((resolve) => setImmediate(resolve)) }\n'
  const waits = [
    'while (!holds()) await new Promise((resolve) => setImmediate(resolve))',
    'for (;;) { if (holds()) break; await sleep(5) }',
    'for (const limit = Date.now() + 60_000; !holds() && Date.now() < limit; ) await turn()',
    'for (let tries = 0; tries < 100 && !holds(); tries += 1) await sleep(20)',
    'for (let tries = 0; tries < 100; tries += 1) { if (holds()) return; await sleep(20) }',
    'for (const until = performance.now() + 60_000; !holds(); await sleep(5)) if (performance.now() > until) throw fault',
    'while (client.take()) await settled()',
    'while (!(await begun()));',
    'while (depth === 0) depth = (await read()).depth',
    'do reply = await asked()\nwhile (reply.status === 503)',
  ]
  for (const text of waits) t.equal(waitsIn(`${imported}${own}${text}`).length, 1, text)
  const others = [
    'while (!isOver) await sleep(5)',
    'while (!this.#isOver) await client.ask()',
    'for (let at = 0; !watch.isOver(); at += 1) await sleep(5)',
    'for (let round = 0; round < rounds; round += 1) { await act(); await sleep(20) }',
    'for (const node of nodes) { await node.end(); await sleep(5) }',
    'for (let event = await viewer.next(); event !== undefined; event = await viewer.next()) take(event)',
    'while (queue.length > 0) later(async () => { await sleep(5) })',
    'await until(holds)',
  ]
  for (const text of others) t.same(waitsIn(`${imported}${own}${text}`), [], text)
})
