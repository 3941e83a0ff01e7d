import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('a build that fails says that dist is that of the sources before, and changes nothing in it', async (t) => {
  const folder = t.testdir({
    src: { 'one.ts': 'export const one: number = "1"\n', 'two.ts': 'export const two = 2\n' },
    dist: { 'build.json': '{}', program: { 'main.cjs': 'earlier' }, src: { 'two.js': 'earlier' } },
  })
  cpSync(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const compilerOptions = { rootDir: '.', outDir: 'dist', tsBuildInfoFile: 'dist/tsconfig.tsbuildinfo', types: [] }
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['src'], references: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))

  const { status, stderr, stdout } = spawnSync(process.execPath, ['scripts/build.mjs'], {
    cwd: folder,
    encoding: 'utf8',
  })

  t.equal(status, 1)
  t.match(stdout, /one\.ts.*Type 'string' is not assignable to type 'number'/)
  t.equal(
    stderr,
    'The build has failed. dist still has the program of the last build that succeeded, without the changes since.\n',
  )
  for (const path of ['program/main.cjs', 'src/two.js'])
    t.equal(readFileSync(join(folder, 'dist', path), 'utf8'), 'earlier', path)
})
