import { test } from 'tap'
import { isUsual } from '../../src/api/ngsi1/parse/shape.js'
import { onlyId } from '../../src/broker/front-end/raw-replies.js'

test('the id is taken from a body that says it once and has no escapes', async (t) => {
  for (const isPlain of [isUsual, undefined]) {
    t.equal(onlyId('{"contextElements":[{"id" : "Silo1","attributes":[]}]}', isPlain), 'Silo1')
    t.equal(onlyId('{"contextElements":[{"id":"A"},{"id":"B"}]}', isPlain), undefined)
    t.equal(onlyId('{"contextElements":[{"id":"A","attributes":[{"name":"id"}]}]}', isPlain), undefined)
    t.equal(onlyId('{"entities":[{"id":"A","x":{"value":{"id":1}}}]}', isPlain), undefined)
    t.equal(onlyId('{"contextElements":[{"id":7}]}', isPlain), undefined)
    t.equal(onlyId('{"contextElements":[{"\\u0069d":"A"}]}', isPlain), undefined)
    t.equal(onlyId('{}', isPlain), undefined)
  }
  t.equal(onlyId('{"entities":[{"id":"A;"}]}'), 'A;')
  t.equal(onlyId('{"contextElements":[{"id":"A;"}]}', isUsual), undefined)
})
