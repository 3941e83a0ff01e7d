// Keeps beside each bundle of the program what V8 compiles of it: all that a short run of the program has called.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'

const keeper = fileURLToPath(new URL('program/keep-code.cjs', import.meta.url))
/** The threads of the run; others are those of clusters, and of the start. */
const running = ['program', 'life', 'partition', 'query', 'courier', 'front-end']
/** Settings of a broker are not meant for this one, and V8 takes no code that was compiled with other flags than a start has. */
const withoutSettings = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(RIGEL_|ORION_|NODE_OPTIONS$)/.test(name)),
)
const ofThread = /\.\d+\.code(\.draft)?$/
const limit_ms = 30_000
const look_ms = 20

/** Where the program cannot run, as where no port may be opened, this says so, and keeps what can be compiled without. */
export async function keepCode(program) {
  const bundles = join(program, 'src', 'bundles')
  const data = mkdtempSync(join(tmpdir(), 'rigel-code-'))
  try {
    await runOnce(join(program, 'src', 'main.cjs'), data, bundles)
  } catch (fault) {
    process.stderr.write(`What a start compiles was not kept, so that each start takes longer: ${fault.message}\n`)
  } finally {
    rmSync(data, { recursive: true, force: true })
    const isLeft = (file) => file === 'keep' || ofThread.test(file)
    for (const file of readdirSync(bundles).filter(isLeft)) rmSync(join(bundles, file))
  }
  for (const file of readdirSync(bundles).filter((name) => name.endsWith('.cjs'))) compile(join(bundles, file))
}

/** Compiles of a bundle that has not run what is compiled when it is read. */
function compile(path) {
  if (existsSync(`${path}.code`)) return
  writeFileSync(`${path}.code`, new Script(readFileSync(path, 'utf8'), { filename: path }).createCachedData())
}

async function runOnce(main, data, bundles) {
  const port = await freePort()
  const words = ['-port', `${port}`, '-localIp', '127.0.0.1', '-dbPath', join(data, 'data'), '-httpThreads', '2']
  const options = { env: withoutSettings, stdio: ['ignore', 'pipe', 'pipe'] }
  const broker = spawn(process.execPath, ['--require', keeper, main, ...words], options)
  let told = ''
  for (const stream of [broker.stdout, broker.stderr]) stream.on('data', (text) => (told += text))
  const exit = once(broker, 'exit')
  const until = async (holds) => {
    for (const end = performance.now() + limit_ms; !(await holds()); await delay(look_ms)) {
      if (broker.exitCode !== null || broker.signalCode !== null || performance.now() > end) throw new Error(told)
    }
  }
  try {
    const url = `http://127.0.0.1:${port}`
    await until(() =>
      fetch(`${url}/version`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    await use(url)
    writeFileSync(join(bundles, 'keep'), '')
    await until(() => running.every((name) => isKept(codesOf(bundles, name))))
  } finally {
    broker.kill()
    await exit
  }
  for (const name of running) {
    // Several threads run the same bundle, and not all of them do everything: of two query threads, one may have had no query.
    const [{ path }] = codesOf(bundles, name).sort((a, b) => b.size - a.size)
    renameSync(path, join(bundles, `${name}.cjs.code`))
  }
}

/** What the threads of a bundle have kept; the file of one that has not done so yet is empty. */
function codesOf(bundles, name) {
  return readdirSync(bundles)
    .filter((file) => file.startsWith(`${name}.cjs.`) && ofThread.test(file) && !file.endsWith('.draft'))
    .map((file) => ({ path: join(bundles, file), size: statSync(join(bundles, file)).size }))
}

const isKept = (codes) => codes.length > 0 && codes.every(({ size }) => size > 0)

/** What nearly every broker is asked for. */
async function use(url) {
  const send = async (method, path, payload) => {
    const headers = payload && { 'Content-Type': 'application/json' }
    const response = await fetch(`${url}${path}`, { method, headers, body: payload && JSON.stringify(payload) })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    await response.text()
  }
  const entity = { id: 'Tank', type: 'Vat', level: { value: 1 } }
  const notification = { http: { url: 'http://127.0.0.1:1/' } }
  await send('POST', '/v2/subscriptions', { subject: { entities: [{ id: 'Tank', type: 'Vat' }] }, notification })
  await send('POST', '/v2/entities', entity)
  await send('PATCH', '/v2/entities/Tank/attrs', { level: { value: 2 } })
  await send('POST', '/v2/op/update', { actionType: 'append', entities: [entity] })
  await send('GET', '/v2/entities/Tank')
  await send('GET', '/v2/entities?q=level>0')
  const contextElements = [{ id: 'Tank', type: 'Vat', attributes: [{ name: 'level', type: 'Number', value: '3' }] }]
  await send('POST', '/v1/updateContext', { updateAction: 'APPEND', contextElements })
  await send('POST', '/v1/queryContext', { entities: [{ id: 'Tank', type: 'Vat' }] })
  await send('GET', '/metrics')
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
