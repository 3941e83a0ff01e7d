import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { validate } from 'dockerfile-utils'
import { type Test, test } from 'tap'
import { freePort } from '../bench/free-port.js'
import { buildImage, contextNames, dockerfile, execForm, finalStage, imageEnvironment, stages } from './image-build.js'
import { until } from './until.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const isLong = process.env['RIGEL_IMAGE'] === 'long'
const contains = spawnSync('unshare', ['--mount', 'setpriv', '--bounding-set=-all', 'true']).status === 0
const skip = contains ? false : 'this system gives no mount namespaces'
const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }).version

test('the Dockerfile has nothing that its linter warns of', async (t) => {
  t.same(
    validate(dockerfile).map(({ message, range }) => `${range.start.line + 1}: ${message}`),
    [],
  )
})

test('the image is small, of one supported Node, and runs as a user by number, without a shell', async (t) => {
  const [before = [], ...built] = stages()
  t.match(before.map(({ text }) => text).join(), /^NODE_IMAGE=node:(2[6-9]|[3-9]\d)-slim$/)
  for (const [from] of built) t.match(from?.text, /^\$\{NODE_IMAGE\}/)
  const final = finalStage()
  const of = (keyword: string) => final.filter((step) => step.keyword === keyword)
  t.same(
    [
      ...of('RUN'),
      ...stages()
        .flat()
        .filter(({ keyword }) => keyword === 'ADD'),
    ],
    [],
  )
  t.same(
    of('USER').map(({ text }) => text),
    ['1000:1000'],
  )
  t.ok(final.findLastIndex(({ keyword }) => keyword === 'COPY') < final.findIndex(({ keyword }) => keyword === 'USER'))
  t.same(
    of('STOPSIGNAL').map(({ text }) => text),
    ['SIGTERM'],
  )
  for (const label of [
    `version="${version}"`,
    'revision="${COMMIT}"',
    'licenses="Apache-2.0"',
    'title=',
    'description=',
  ]) {
    t.ok(
      of('LABEL').some(({ text }) => text.includes(`org.opencontainers.image.${label}`)),
      label,
    )
  }
  t.ok(
    Number(imageEnvironment()['RIGEL_SHUTDOWN_TIMEOUT']) + 1 < 10,
    'an orderly end takes less than docker stop waits',
  )
  for (const [node, script = ''] of [execForm('ENTRYPOINT'), execForm('HEALTHCHECK')]) {
    t.equal(node, 'node')
    t.ok(existsSync(script.replace('/rigel', root)), script)
  }
})

test('what is copied into the image is sent to the builder, and nothing else is', async (t) => {
  const names = contextNames()
  const copied = (stages()[1] ?? [])
    .filter(({ keyword }) => keyword === 'COPY')
    .flatMap(({ words }) => words.slice(0, -1))
  t.same(copied.toSorted(), names.toSorted())
  for (const name of names) t.ok(existsSync(join(root, name)), name)
})

/** A folder that users without rights can read. */
function openFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'rigel-image-'))
  chmodSync(folder, 0o755)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The places of the image, and what is seen as its tree: itself, built as the Dockerfile says, or the tree of the sources as it stands. */
function givenImage(folder: string): { readonly tree: string; readonly data: string; readonly source: string } {
  if (isLong) {
    const built = buildImage(folder, 'c'.repeat(40))
    return { ...built, source: built.tree }
  }
  const [tree, data] = [join(folder, 'rigel'), join(folder, 'data')]
  for (const place of [tree, data]) mkdirSync(place)
  return { tree, data, source: root }
}

/** Makes everything read-only but one folder, gives up all rights, and becomes the program. */
const contained = `set -e
data=$1; source=$2; tree=$3; shift 3
unset NODE_OPTIONS
mount --make-rprivate /
mount --bind "$source" "$tree"
mount --bind "$data" "$data"
mount -o remount,bind,ro "$tree"
mount -o remount,bind,ro /
exec setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$@"`

test('the image serves as its user, without rights and on a read-only file system, and knows its health', {
  skip,
}, async (t) => {
  t.setTimeout(600_000)
  const { tree, data, source } = givenImage(openFolder(t))
  chownSync(data, 1000, 1000)
  const port = await freePort()
  const env = {
    ...imageEnvironment(),
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    RIGEL_DB_PATH: data,
    ORION_PORT: `${port}`,
  }
  const words = (keyword: string) => execForm(keyword).map((word) => word.replace(/^\/rigel/, tree))
  const start = (...command: readonly string[]): ChildProcess =>
    spawn('unshare', ['--mount', 'sh', '-c', contained, 'sh', data, source, tree, ...command], {
      cwd: '/',
      env,
      stdio: ['ignore', 'inherit', 'pipe'],
    })
  const health = async (): Promise<number | null> => {
    const request = start(...words('HEALTHCHECK'))
    await once(request, 'exit')
    return request.exitCode
  }
  t.equal(await health(), 1, 'nothing runs yet')
  const broker = start(...words('ENTRYPOINT'))
  t.teardown(() => broker.kill('SIGKILL'))
  await until(async () => (await health()) === 0 || broker.exitCode !== null, 'it is healthy')
  t.equal(broker.exitCode, null)
  const status = readFileSync(`/proc/${broker.pid}/status`, 'utf8')
  for (const line of [/^Uid:\t1000\t1000\t1000\t1000$/m, /^CapEff:\t0+$/m, /^CapBnd:\t0+$/m, /^NoNewPrivs:\t1$/m])
    t.match(status, line)
  const reply = await fetch(`http://127.0.0.1:${port}/v2/entities`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ id: 'Tank1', type: 'Tank' }),
  })
  t.equal(reply.status, 201)
  if (isLong) {
    const shown = await (await fetch(`http://127.0.0.1:${port}/version`)).text()
    t.match(shown, `"git_hash":"${'c'.repeat(40)}"`)
    t.equal(execFileSync('find', [tree, '-name', '*.map'], { encoding: 'utf8' }), '')
    t.equal(existsSync(join(tree, 'node_modules', 'typescript')), false)
  }
  broker.kill(finalStage().find(({ keyword }) => keyword === 'STOPSIGNAL')?.text as NodeJS.Signals)
  t.same(await once(broker, 'exit'), [0, null])
  t.equal(await health(), 1)
})
