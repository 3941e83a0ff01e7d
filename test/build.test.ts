import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { closeSync, cpSync, mkdirSync, openSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tryLock } from 'fs-native-extensions'
import { type Test, test } from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))
const failed =
  'The build has failed. dist still has the program of the last build that succeeded, without the changes since.\n'

/** A tree like this one whose sources do not compile, with what an earlier build has made of other sources. */
function givenTree(t: Test): string {
  const folder = t.testdir({
    src: { 'one.ts': 'export const one: number = "1"\n', 'two.ts': 'export const two = 2\n' },
    dist: { 'build.json': '{}', program: { 'main.cjs': 'earlier' }, src: { 'two.js': 'earlier' } },
  })
  for (const path of ['workers', 'bench', 'docs/openapi']) mkdirSync(join(folder, path), { recursive: true })
  cpSync(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const compilerOptions = { rootDir: '.', outDir: 'dist', tsBuildInfoFile: 'dist/tsconfig.tsbuildinfo', types: [] }
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['src'], references: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  return folder
}

/** No repository is found above the tree, so its commit is not known. */
const withoutRepository = { ...process.env, GIT_DIR: '/dev/null' }

function build(folder: string, ...words: readonly string[]): SpawnSyncReturns<string> {
  const options = { cwd: folder, encoding: 'utf8', env: withoutRepository } as const
  return spawnSync(process.execPath, ['scripts/build.mjs', ...words], options)
}

test('a build that fails says that dist is that of the sources before, and changes nothing in it', async (t) => {
  const folder = givenTree(t)

  const { status, stderr, stdout } = build(folder)

  t.equal(status, 1)
  t.match(stdout, /one\.ts.*Type 'string' is not assignable to type 'number'/)
  t.equal(stderr, failed)
  for (const path of ['program/main.cjs', 'src/two.js'])
    t.equal(readFileSync(join(folder, 'dist', path), 'utf8'), 'earlier', path)
})

test('npm start and the tests build only when a source is younger than the last build', async (t) => {
  const folder = givenTree(t)
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const name of ['prestart', 'test', 'test:system'])
    t.match(scripts[name], /^node scripts\/build\.mjs --when-changed( &&|$)/, name)

  const built = new Date(Date.now() + 5_000)
  const later = new Date(Date.now() + 10_000)
  utimesSync(join(folder, 'dist', 'build.json'), built, built)
  const unchanged = build(folder, '--when-changed')
  utimesSync(join(folder, 'src', 'two.ts'), later, later)
  const changed = build(folder, '--when-changed')

  t.same([unchanged.status, unchanged.stdout, unchanged.stderr], [0, '', ''])
  t.same([changed.status, changed.stderr], [1, failed])
})

test('one build at a time writes to dist', async (t) => {
  const folder = givenTree(t)
  const lock = openSync(join(folder, 'dist', '.lock'), 'a+')
  t.ok(tryLock(lock), 'another build has begun')

  const second = spawn(process.execPath, ['scripts/build.mjs'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let told = ''
  const ended = new Promise((resolve) => second.on('close', resolve))
  await new Promise<void>((resolve) => {
    second.stderr.setEncoding('utf8').on('data', (text: string) => {
      told += text
      resolve()
    })
  })

  t.equal(told, 'Another build of this folder is under way. This one begins when that one has ended.\n')
  closeSync(lock)
  await ended
  t.match(told, failed)
})
