import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { test } from 'tap'
import { exportCommand } from '../../src/data/transfer/export-command.js'
import { importCommand } from '../../src/data/transfer/import-command.js'
import { begun, ran, rigelProgram } from '../offline/given-command.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { exportOf, linesIn, textOf } from './given-command.js'
import { fill } from './given-data.js'

const hasLimits = spawnSync('prlimit', ['--version']).status === 0 ? {} : { skip: 'there is no prlimit' }

/** What clients see of a folder. */
async function shown(url: string): Promise<unknown> {
  const trees = { 'fiware-service': 'trees' }
  const builtin = 'attrs=*,dateCreated,dateModified&metadata=*,dateCreated,dateModified'
  const paths = [`/v2/entities?${builtin}`, '/v2/registrations', '/v2/types']
  const texts: string[] = []
  for (const path of paths) {
    for (const headers of [{}, trees]) texts.push(await (await fetch(url + path, { headers })).text())
  }
  for (const headers of [{}, trees]) {
    const list: readonly Record<string, unknown>[] = JSON.parse(
      await (await fetch(`${url}/v2/subscriptions`, { headers })).text(),
    )
    texts.push(JSON.stringify(list.map(({ notification: _, ...rest }) => rest)))
  }
  return texts
}

test('what is exported, imported into an empty folder and exported again is the same text, and shows the same', async (t) => {
  const folder = t.testdir()
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), ['-multiservice', '-partitions', '3'])
  await fill(broker.url)
  const before = await shown(broker.url)
  const running = await rigelProgram(['export', '-', '-dbPath', join(folder, 'data')])
  t.equal(running.code, 1, 'not of a folder that a broker has')
  t.match(running.errors, /is in use by another broker/)
  await broker.endsInOrder(t)

  const [first, second] = [join(folder, 'first.jsonl'), join(folder, 'second.jsonl')]
  const exported = await rigelProgram(['export', first, '-dbPath', join(folder, 'data')])
  t.match(exported, {
    code: 0,
    errors: 'exported: 4 entities, 4 subscriptions, 2 registrations, 1 availability subscription',
  })
  t.notOk(existsSync(`${first}.part`))
  t.equal(statSync(first).mode & 0o777, 0o600, 'it has passwords')
  const imported = await rigelProgram(['import', first, '-dbPath', join(folder, 'copy'), '-partitions', '2'])
  t.match(imported, { code: 0, errors: /^created: 4 entities, 4 subscriptions, 2 registrations, 1 availability/ })
  t.equal((await rigelProgram(['export', second, '-dbPath', join(folder, 'copy')])).code, 0)
  t.equal(textOf(second), textOf(first))

  const copy = await RunningBroker.startOn(t, join(folder, 'copy'), ['-multiservice'])
  t.same(await shown(copy.url), before)

  const kinds = linesIn(textOf(first)).map(({ kind }) => kind)
  t.same([kinds[0], kinds.at(-1)], ['header', 'end'])
  const silo = linesIn(textOf(first)).find(({ id }) => id === 'Silo7')
  t.match(silo, {
    attributes: [{ name: 'level', instance: 'high' }, { instance: 'low' }, { name: 'place', location: true }],
  })

  await t.test('filters leave out all else', async (t) => {
    const ids = async (...words: readonly string[]): Promise<readonly unknown[]> => {
      const { code } = await ran(exportCommand, [second, '-dbPath', join(folder, 'data'), ...words])
      t.equal(code, 0)
      return linesIn(textOf(second)).flatMap(({ kind, id, description }) =>
        kind === 'entity' ? [id] : id ? [description ?? kind] : [],
      )
    }
    t.same(await ids('--tenant', 'trees'), ['Oak', 'subscription'])
    t.same(await ids('--kind', 'entity', '--tenant', ''), ['Room1', 'Untyped', 'Silo7'])
    t.same(await ids('--kind=entity', '--path', '/parks/#'), ['Oak'])
    t.same(await ids('--kind', 'entity', '--type', 'Room'), ['Room1'])
    t.same(await ids('--kind', 'registration,availability'), ['registration', 'registration', 'availability'])
    t.match(await ran(exportCommand, ['-', '--kind', 'entities']), {
      code: 2,
      errors: /'entities' is none of entity, /,
    })
    t.match(await ran(exportCommand, ['-', '--tenent', 'x']), { code: 2, errors: /did you mean '--tenant'/ })
  })
})

function room(number: number, value: unknown = number): object {
  const attributes = [{ name: 'n', type: 'Number', value }]
  return { kind: 'entity', id: `Room${number}`, type: 'Room', created: '2026-01-01T00:00:00.000Z', attributes }
}

test('what is there already fails, is skipped or is replaced; what is wrong is said with its line and column', async (t) => {
  const folder = t.testdir()
  const data = join(folder, 'data')
  const into = ['-dbPath', data, '-partitions', '2']
  const given = join(folder, 'given.jsonl')
  const import_ = (text: string, ...words: readonly string[]) => {
    writeFileSync(given, text)
    return ran(importCommand, [given, ...into, ...words])
  }
  const values = async (): Promise<unknown> => {
    await ran(exportCommand, [join(folder, 'values.jsonl'), '-dbPath', data])
    return linesIn(textOf(join(folder, 'values.jsonl'))).flatMap(({ kind, attributes }) =>
      kind === 'entity' ? [JSON.parse(JSON.stringify(attributes))[0].value] : [],
    )
  }
  const dry = await import_(exportOf([room(1)]), '--dry-run')
  t.match(dry, { code: 0, errors: 'would be created: 1 entity' })
  t.notOk(existsSync(data), 'nothing is made by a dry run')

  t.match(await import_(exportOf([room(1), room(2)])), { code: 0 })
  const failed = await import_(exportOf([room(3), room(2, 'other'), room(4)]))
  t.match(failed, {
    code: 1,
    errors:
      /created: 1 entity\nleft out as a whole: 1 entity\nline 3: entity Room2 of type Room in \/: left out as a whole: it is there already.*\nthe import stopped there, and has imported what comes before: /,
  })
  t.same(await values(), [1, 2, 3], 'nothing behind it was taken')
  t.match(await import_(exportOf([room(3), room(2, 'other'), room(4)]), '--on-conflict', 'skip'), {
    code: 0,
    errors: 'created: 1 entity\nskipped, since they exist: 2 entities',
  })
  t.match(await import_(exportOf([room(2, 'other'), room(5)]), '--on-conflict', 'replace'), { code: 0 })
  t.same(await values(), [1, 'other', 3, 4, 5], 'an entity that is replaced keeps its sequence')

  const lines = exportOf([room(6), room(7), room(8)]).split('\n')
  lines[2] = (lines[2] ?? '').replace('"Room"', '"Room",,')
  t.match(await import_(lines.join('\n')), {
    code: 1,
    errors: /line 3, column 45: the line is not JSON: a key in double quotes is expected there/,
  })
  t.match(
    await import_(lines.join('\n'), '--on-conflict', 'skip', '--keep-going', '--report', join(folder, 'report')),
    {
      code: 3,
      errors:
        /created: 1 entity\nskipped, since they exist: 1 entity\nline 3.*\nline 5: the end line counts 3 entities, but 2 could be read/s,
    },
  )
  t.match(textOf(join(folder, 'report')), /^line 3, column 45: .*\nline 5: .*\n$/)

  t.match(await import_(lines.slice(0, 2).join('\n'), '--on-conflict', 'skip'), {
    code: 1,
    errors: /line 2: the export was cut: .*; nothing was imported/,
  })
  t.same(await values(), [1, 'other', 3, 4, 5, 6, 8])
  t.match(await import_(lines.slice(0, 2).join('\n'), '--on-conflict', 'skip', '--keep-going'), {
    code: 3,
    errors: /the export was cut/,
  })
  t.match(await import_('{"kind":"entity","id":"x"}'), {
    code: 1,
    errors:
      /nothing was imported\nline 1: .*it is no export of Rigel.*\nthe import stopped there: correct what is wrong and import/,
  })
  t.match(await import_(exportOf([{ kind: 'entity', id: 'x', attribute: [] }])), {
    errors: /line 2: .*attribute means nothing here/,
  })
  t.match(await import_(exportOf([{ kind: 'entity', id: 'a<b' }])), {
    errors: /line 2: .*id holds one of the characters/,
  })
  t.match(await ran(importCommand, [join(folder, 'missing'), ...into]), { code: 1, errors: /missing cannot be read/ })

  writeFileSync(join(folder, 'zipped'), gzipSync(exportOf([room(9)])))
  t.match(await ran(importCommand, [join(folder, 'zipped'), ...into]), { code: 0, errors: 'created: 1 entity' })
})

test('what comes through a pipe may be compressed, and what is hostile in it is told', async (t) => {
  const folder = t.testdir()
  const packed = gzipSync(exportOf([room(1), room(2)]))
  const into = (name: string) => ['import', '-', '-dbPath', join(folder, name)]
  t.match(await rigelProgram(into('packed'), packed), { code: 0, errors: /created: 2 entities/ })
  t.match(await rigelProgram(into('cut'), packed.subarray(0, packed.length - 20)), {
    code: 1,
    errors: /the import did not come to its end: unexpected end of file/,
  })
  const long = gzipSync(exportOf(Array.from({ length: 6000 }, (_, n) => room(n))))
  t.match(await rigelProgram(into('cut long'), long.subarray(0, long.length / 2)), {
    code: 1,
    errors: /created: \d+ entities\n.*the import did not come to its end: unexpected end of file/s,
  })
  // A bomb: 200 MiB of one line, nested deeper than any stack or memory takes, behind what is good.
  const bomb = gzipSync(
    Buffer.concat([
      Buffer.from(
        exportOf([room(1)])
          .split('\n', 2)
          .join('\n'),
      ),
      Buffer.alloc(2 ** 27, '['),
    ]),
  )
  t.match(await rigelProgram(into('bomb'), bomb), { code: 1, errors: /line 2: the line is longer than 64 MiB/ })
  const [header = '', ...rest] = exportOf([room(1)]).split('\n')
  const deep = `{"kind":"entity","id":"x","attributes":${'['.repeat(2 ** 21)}${']'.repeat(2 ** 21)}}`
  t.match(await rigelProgram(into('deep'), [header, deep, ...rest].join('\n')), {
    code: 1,
    errors: /line 2, column 2\d\d: the line is not JSON: no more than 200 levels is expected there/,
  })
})

test('an export that cannot be written leaves nothing of its name, nor beside it', hasLimits, async (t) => {
  const folder = t.testdir()
  const data = join(folder, 'data')
  await rigelProgram(
    ['import', '-', '-dbPath', data],
    exportOf(Array.from({ length: 10_000 }, (_, number) => room(number))),
  )
  const limited = await rigelProgram(['export', join(folder, 'out'), '-dbPath', data], '', [
    'prlimit',
    `--fsize=${2 ** 19}`,
  ])
  t.match(limited, { code: 1, errors: /nothing was exported: .*a file may not become so large/ })
  t.same(readdirSync(folder), ['data'])
  t.match(await rigelProgram(['export', folder, '-dbPath', data]), { code: 1, errors: /is no file: name another one/ })
})

/** Bytes that a partition has stored. */
function stored_bytes(data: string, partition: number): number {
  return statSync(join(data, `partition-${partition}`, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0
}

test('an import that was killed goes on with --on-conflict skip, and nothing is lost or twice there', async (t) => {
  const folder = t.testdir()
  const data = join(folder, 'data')
  const text = exportOf(Array.from({ length: 20_000 }, (_, number) => room(number)))
  const killed = begun(['import', '-', '-dbPath', data, '-partitions', '2'])
  const ended = once(killed, 'close')
  killed.stdin?.on('error', () => {})
  killed.stdin?.write(text.slice(0, text.length / 2)) // It waits for the rest, which never comes.
  await until(() => [0, 1].every((partition) => stored_bytes(data, partition) >= 2 ** 19) || killed.exitCode !== null)
  killed.kill('SIGKILL')
  await ended
  const held = linesIn((await rigelProgram(['export', '-', '-dbPath', data])).output).length - 2
  t.ok(held > 0 && held < 20_000, `${held} were there`)

  const again = await rigelProgram(['import', '-', '-dbPath', data, '--on-conflict', 'skip'], text)
  t.match(again, { code: 0, errors: `created: ${20_000 - held} entities\nskipped, since they exist: ${held} entities` })
  const { output } = await rigelProgram(['export', '-', '-dbPath', data])
  // What was written when it was killed may come later in the order of creation.
  t.same(new Set(output.split('\n')), new Set((await exportedAtOnce(text, join(folder, 'whole'))).split('\n')))
  t.equal(linesIn(output).length, 20_002)
})

async function exportedAtOnce(text: string, data: string): Promise<string> {
  await rigelProgram(['import', '-', '-dbPath', data, '-partitions', '3'], text)
  return (await rigelProgram(['export', '-', '-dbPath', data])).output
}
