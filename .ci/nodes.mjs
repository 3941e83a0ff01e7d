// Installs the package as its users do and runs the broker on newer versions of Node: it starts, answers, has on disk what it said
// it has, and ends in order. The last line counts what passed and failed.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const versions = ['24', '26']
const startLimit_ms = 60_000
const folder = mkdtempSync(join(tmpdir(), 'rigel-nodes-'))
let passed = 0
let failed = 0

function npm(...words) {
  return execFileSync('npm', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

function expect(name, holds) {
  if (holds) passed += 1
  else failed += 1
  if (!holds) process.stdout.write(`FAILED ${name}\n`)
}

/** Starts the broker and waits until it answers. */
async function started(node, program, data) {
  const port = await freePort()
  const broker = spawn(node, [program, '-port', `${port}`, '-dbPath', data], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  const until = Date.now() + startLimit_ms
  while (broker.exitCode === null && Date.now() < until) {
    const answers = await fetch(`${url}/version`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (answers) return { broker, url }
    await delay(50)
  }
  broker.kill('SIGKILL')
  throw new Error('the broker did not answer')
}

async function end(broker, signal) {
  const exit = once(broker, 'exit')
  broker.kill(signal)
  const [code] = await exit
  return code
}

async function tryOn(version) {
  // A folder of its own: npm removes what was installed before and stands in no package.json.
  const own = join(folder, `node-${version}`)
  const binaries = `node-linux-${process.arch}`
  npm('install', '--prefix', own, '--no-save', '--no-audit', '--no-fund', `${binaries}@${version}`)
  const node = join(own, 'node_modules', binaries, 'bin', 'node')
  const name = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
  expect(`${name} is of version ${version}`, name.startsWith(`v${version}.`))
  const data = join(folder, `data-${version}`)
  const json = { 'Content-Type': 'application/json' }
  const first = await started(node, program, data)
  const created = await fetch(`${first.url}/v2/entities`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ id: 'Silo1', type: 'Silo', level: { value: 64, type: 'Number' } }),
  })
  expect(`${name}: an entity is created`, created.status === 201)
  const queried = await fetch(`${first.url}/v1/queryContext`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ entities: [{ id: 'Silo.*', isPattern: 'true' }] }),
  })
  expect(`${name}: a query finds it`, (await queried.text()).includes('"id":"Silo1"'))
  expect(`${name}: statistics are there`, (await fetch(`${first.url}/statistics`)).status === 200)
  expect(`${name}: SIGTERM ends it with 0`, (await end(first.broker, 'SIGTERM')) === 0)
  const second = await started(node, program, data)
  const read = await fetch(`${second.url}/v2/entities/Silo1/attrs/level/value`)
  expect(`${name}: the entity is there after a restart`, (await read.text()) === '64')
  expect(`${name}: SIGTERM ends it with 0 again`, (await end(second.broker, 'SIGTERM')) === 0)
  process.stdout.write(`${name}: tried\n`)
}

const packed = npm('pack', '--silent', '--ignore-scripts', '--pack-destination', folder).trim().split('\n').at(-1)
npm('install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', join(folder, packed))
const program = join(folder, 'node_modules', 'rigel-broker', 'dist', 'program', 'src', 'main.cjs')
try {
  for (const version of versions) {
    await tryOn(version).catch((fault) => expect(`Node ${version}: ${fault.message}`, false))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exitCode = failed > 0 ? 1 : 0
