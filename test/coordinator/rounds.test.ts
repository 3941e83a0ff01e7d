import { test } from 'tap'
import { type LastNotices, Rounds } from '../../src/broker/coordinator/rounds.js'
import type { NoticeNumber } from '../../src/model/subscription/notice.js'
import { until } from '../until.js'

/** A node of which a test says how far it is, and what it owns. */
interface GivenMember {
  metadataVersion: number
  owns: readonly (readonly [partition: number, lastNotice: number])[]
  questions: number
}

function members(...names: readonly string[]): Map<string, GivenMember> {
  return new Map(names.map((name) => [name, { metadataVersion: 0, owns: [], questions: 0 }]))
}

function roundsOf(nodes: Map<string, GivenMember>, limit_ms = 60_000): Rounds {
  return new Rounds({
    partitions: 2,
    limit_ms,
    members: () => [...nodes.keys()],
    heartbeat: async (name, metadataVersion): Promise<LastNotices | undefined> => {
      const node = nodes.get(name)
      if (node === undefined) return undefined
      node.questions += 1
      if (node.metadataVersion < metadataVersion) return undefined
      return new Map(node.owns.map(([partition, last]) => [partition, last as NoticeNumber]))
    },
  })
}

function given(nodes: Map<string, GivenMember>, name: string): GivenMember {
  const node = nodes.get(name)
  if (node === undefined) throw new Error(`there is no ${name}`)
  return node
}

test('a record is in force everywhere when all members have it and each partition has written a heartbeat record behind it', async (t) => {
  const nodes = members('a', 'b')
  const [a, b] = [given(nodes, 'a'), given(nodes, 'b')]
  a.owns = [[0, 10]]
  a.metadataVersion = 5
  const rounds = roundsOf(nodes)
  let isOver = false
  const passed = rounds.passed(5).finally(() => {
    isOver = true
  })
  const untilAsked = async (node: GivenMember, more: number): Promise<void> => {
    const { questions } = node
    await until(() => node.questions >= questions + more)
  }
  await untilAsked(b, 2)
  t.notOk(isOver, 'a member does not have it')
  b.metadataVersion = 5
  await untilAsked(b, 2)
  t.notOk(isOver, 'a partition has no owner that writes a heartbeat record')
  b.owns = [[1, 20]]
  t.same(await passed, { ok: true, value: [10, 20] })

  const before = a.questions
  t.same(await rounds.passed(4), { ok: true, value: [10, 20] }, 'what was before that is in force too')
  t.equal(a.questions, before, 'without another question')
})

test('those who wait together share the questions; who is no member any more is not waited for', async (t) => {
  const nodes = members('a', 'b')
  const [a, b] = [given(nodes, 'a'), given(nodes, 'b')]
  a.metadataVersion = 9
  a.owns = [
    [0, 1],
    [1, 2],
  ]
  b.metadataVersion = 9
  const rounds = roundsOf(nodes)
  const both = Array.from({ length: 50 }, () => rounds.passed(9))
  for (const passed of await Promise.all(both)) t.same(passed, { ok: true, value: [1, 2] })
  t.ok(b.questions <= 3, `${b.questions} questions`)
  a.metadataVersion = 12
  const next = rounds.passed(12)
  nodes.delete('b')
  t.match(await next, { ok: true })
})

test('what is not in force everywhere in time is said not to be', async (t) => {
  const nodes = members('a')
  t.same(await roundsOf(nodes, 100).passed(1), { ok: false, error: { kind: 'notEverywhere' } })
})
