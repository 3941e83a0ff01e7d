import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import ts from 'typescript'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What opens connections, by module; `true` is all that a module has. Types open nothing. */
const opening: Readonly<Record<string, true | readonly string[]>> = {
  undici: true,
  mqtt: true,
  '@grpc/grpc-js': true,
  net: ['connect', 'createConnection', 'Socket', 'Stream'],
  tls: ['connect', 'createConnection', 'TLSSocket'],
  http: ['request', 'get', 'Agent', 'ClientRequest', 'globalAgent'],
  https: ['request', 'get', 'Agent', 'globalAgent'],
  http2: true,
  dgram: true,
  child_process: true,
}

/** The same without a module. */
const globals: ReadonlySet<string> = new Set(['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'require'])

/** Where connections may be opened, and why nothing that a client sends decides where they go. */
const allowed: Readonly<Record<string, string>> = {
  'src/delivery/http-client/checked-connect.ts': 'checks every destination, for HTTP and for MQTT',
  'src/delivery/http-client/http-client.ts': 'its connections are opened by checked-connect.ts',
  'src/delivery/senders/mqtt-connection.ts': 'speaks MQTT on a socket of checked-connect.ts',
  'src/storage/etcd/etcd-client.ts': 'the members of etcd, from -clusterUrl',
  'src/cluster/link/node-connection.ts':
    'other nodes, from what they announce in etcd; the caller shows what nodes know each other by',
  'src/runtime/commands/health-program.ts': 'a program of its own: asks the broker of this machine for its health',
  'src/runtime/commands/import-module.ts': 'loads another file of this program, which its caller names',
  'src/data/offline/connection-fault.ts': 'the same broker once more, when it gave a command no response',
  'src/data/offline/backup-command.ts': 'a program of its own: the broker that its operator names',
  'src/data/transfer/online/broker-connection.ts': 'a program of its own: the broker that its operator names',
}

/** Files that do not run in the broker. */
const elsewhere = ['src/api/console/page/']

function sources(): readonly string[] {
  return ['src', 'workers']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
        .map((entry) => relative(root, join(entry.parentPath, entry.name))),
    )
    .filter((file) => !elsewhere.some((folder) => file.startsWith(folder)))
}

function isOpening(module: string, name?: string): boolean {
  const names = opening[module.replace(/^node:/, '').replace(/^(undici|mqtt)\/.*$/, '$1')]
  return names === true || (names !== undefined && (name === undefined || names.includes(name)))
}

/** A source without any of these words is not worth parsing. */
const suspicious = new RegExp(`\\b(?:import\\(|${[...Object.keys(opening), ...globals].join('|').replaceAll('@', '')})`)

/** What a source has that opens connections. */
function openings(text: string): readonly string[] {
  if (!suspicious.test(text.replaceAll('@', ''))) return []
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      found.push(...importedOpenings(node, node.moduleSpecifier.text))
      return
    }
    if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      if (!node.isTypeOnly && isOpening(node.moduleSpecifier.text)) found.push(node.moduleSpecifier.text)
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [module] = node.arguments
      if (module === undefined || !ts.isStringLiteral(module)) found.push(`import(${module?.getText() ?? ''})`)
      else if (isOpening(module.text)) found.push(module.text)
    }
    if (ts.isIdentifier(node) && globals.has(node.text) && isUsed(node)) found.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('source.tsx', text, ts.ScriptTarget.Latest, true))
  return found
}

function importedOpenings({ importClause }: ts.ImportDeclaration, module: string): readonly string[] {
  if (importClause?.isTypeOnly) return []
  const bindings = importClause?.namedBindings
  if (bindings === undefined || !ts.isNamedImports(bindings) || importClause?.name !== undefined) {
    return isOpening(module) ? [module] : []
  }
  const values = bindings.elements.filter(({ isTypeOnly }) => !isTypeOnly)
  return values.flatMap(({ name, propertyName }) =>
    isOpening(module, (propertyName ?? name).text) ? [`${module} ${(propertyName ?? name).text}`] : [],
  )
}

/** Whether a name is the global thing: called, made, or taken from `globalThis`; methods of others have such names as well. */
function isUsed(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return parent.expression.getText() === 'globalThis'
  const isName =
    (ts.isPropertyAssignment(parent) && parent.name === node) ||
    ts.isMethodDeclaration(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isTypeReferenceNode(parent)
  return !isName
}

test('connections are opened only where their destinations are checked, or are no choice of clients', async (t) => {
  const files = sources()
  t.ok(files.length > 400, 'the sources are there')
  const opened = new Map(files.map((file) => [file, openings(readFileSync(join(root, file), 'utf8'))]))
  for (const [file, found] of opened) {
    if (allowed[file] === undefined) t.same(found, [], `${file} opens no connections of its own`)
    else t.not(found.length, 0, `${file} still does: ${allowed[file]}`)
  }
  for (const file of Object.keys(allowed)) t.ok(opened.has(file), `${file} is there`)
})

test('whatever opens connections is found in a source, and types are not', async (t) => {
  const found = [
    "import { request } from 'undici'",
    "import { Agent, type Dispatcher } from 'undici'",
    "import * as net from 'node:net'",
    "import net from 'net'",
    "import { isIP, connect as open } from 'node:net'",
    "import { get as httpGet } from 'node:http'",
    "import 'mqtt'",
    "export { connect } from 'node:tls'",
    "const { connect } = await import('mqtt')",
    'const tools = await import(name)',
    "fetch('http://a')",
    'globalThis.fetch(url)',
    'const ask = fetch',
    'new WebSocket(url)',
    "require('net')",
  ]
  for (const text of found) t.equal(openings(text).length, 1, text)
  const others = [
    "import type { Dispatcher } from 'undici'",
    "import { type Socket, isIP } from 'node:net'",
    "import { createServer, STATUS_CODES } from 'node:http'",
    "import { rootCertificates } from 'node:tls'",
    'await copies.fetch(behind)',
    'const link = { fetch: () => 1 }',
    'interface Copies { fetch(behind: number): void }',
    "await import('./other.js')",
  ]
  for (const text of others) t.same(openings(text), [], text)
})
