import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { libraryVersions, readVersion, versionFacts } from '../src/version.js'

test('the program knows its version and those of its libraries', async (t) => {
  t.match(versionFacts, { version: /^\d+\.\d+\.\d+/, compiled_by: 'rigel', compiled_in: `node ${process.version}` })
  t.match(versionFacts.git_hash, /^([0-9a-f]{40}|nogitversion)$/)
  t.match(versionFacts.compile_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  t.match(libraryVersions(), { node: process.versions.node, lmdb: /^\d/, hono: /^\d/, pino: /^\d/ })
})

test('hash and time come from the notes of the build', async (t) => {
  const hash = '9c1f0e5d2b7a4c3e8f6d1a0b9c8e7f6a5d4c3b2a'
  const folder = t.testdir({
    'package.json': '{"version":"1.2.3","homepage":"https://example.org"}',
    dist: { 'build.json': JSON.stringify({ git_hash: hash, compile_time: '2026-02-03T09:12:44.118Z' }) },
  })
  t.match(readVersion(join(folder, 'package.json')), {
    ...{ version: '1.2.3', git_hash: hash, compile_time: '2026-02-03T09:12:44Z', release_date: '2026-02-03T09:12:44Z' },
    doc: 'https://example.org',
  })
})

test('without notes the hash is unknown and the time is that of the package', async (t) => {
  const file = join(
    t.testdir({ 'package.json': '{"version":"1.2.3"}', dist: { 'build.json': '{"git_hash":"x"' } }),
    'package.json',
  )
  utimesSync(file, 0, 0)
  t.match(readVersion(file), { git_hash: 'nogitversion', compile_time: '1970-01-01T00:00:00Z' })
})
