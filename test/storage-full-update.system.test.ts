import { test } from 'tap'
import { items, member } from '../bench/ngsi.js'
import { RunningBroker } from './running.js'

test('of a large update that fills the storage each element is answered as it is', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-dbSizeMax', '16'])
  const page = { name: 'page', value: 'x'.repeat(700) }
  const posted = (n: number, updateAction: string, attributes: readonly object[], count = 1000) => {
    const contextElements = Array.from({ length: count }, (_, at) => ({ id: `Book${n}-${at}`, attributes }))
    return broker.send('POST', '/v1/updateContext', { contextElements, updateAction })
  }
  const stored: number[] = []
  for (let n = 0; n < 100; n += 1) {
    const reply = await posted(n, 'APPEND', [page])
    if (reply.status === 503) {
      // It was full when the update came: the next one finds room for about half of itself.
      await posted(stored.pop() ?? 0, 'DELETE', [], 500)
      continue
    }
    const codes = codesIn(reply.json)
    t.equal(codes.length, 1000)
    if (codes.every((code) => code === '200')) {
      stored.push(n)
      continue
    }
    t.ok(codes.includes('200'))
    t.match(reply.text, /"code":"503","reasonPhrase":"Service Unavailable","details":"storage full: not carried out"/)
    const query = { entities: [{ isPattern: 'true', id: `^Book${n}-` }] }
    const found = await broker.send('POST', '/v1/queryContext?details=on&limit=1000', query)
    t.match(found.json, { errorCode: { details: `Count: ${codes.filter((code) => code === '200').length}` } })
    return
  }
  t.fail('no update filled the storage')
})

function codesIn(json: unknown): readonly unknown[] {
  return items(member(json, 'contextResponses')).map((response) => member(member(response, 'statusCode'), 'code'))
}
