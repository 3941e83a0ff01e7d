import { test } from 'tap'
import { appendDevices, deviceId, readingOf, updateAnyDevice, updateDevice } from '../../bench/device.js'
import { items, member, refusalIn } from '../../bench/ngsi.js'
import { firstFresh, fresh, prepare } from '../../bench/request.js'

const address = { host: 'localhost', port: 1026 }

test('a fresh number changes the whole reading and nothing else of a request', async (t) => {
  const request = prepare(updateDevice(7, fresh), address)
  const reading = firstFresh + 5
  t.equal(request(reading), prepare(updateDevice(7, reading), address)(0))
  t.not(request(reading), request(reading + 1))
  const [head = '', body = ''] = request(reading).split('\r\n\r\n')
  t.match(head, `Content-Length: ${Buffer.byteLength(body)}`)
})

test('every device has its turn before one has a second', async (t) => {
  const devices = 50
  const request = prepare(updateAnyDevice(devices), address)
  const ids = Array.from({ length: devices }, (_, place) => /bench-device-\d{7}/.exec(request(firstFresh + place))?.[0])
  t.same(new Set(ids), new Set(Array.from({ length: devices }, (_, number) => deviceId(number))))
  const [head = '', body = ''] = request(firstFresh).split('\r\n\r\n')
  t.match(head, `Content-Length: ${Buffer.byteLength(body)}`)
})

test('the reading of a device is taken only from one that is whole', async (t) => {
  const request: unknown = JSON.parse(appendDevices([1], 42).body ?? '')
  const device: unknown = items(member(request, 'contextElements'))[0]
  const response = JSON.stringify({ contextElement: device })
  t.same(readingOf(response), { reading: '42' })
  t.match(readingOf(response.replace('"42"', '"41"')), { wrong: /parts of several updates: 41, 42/ })
  t.same(readingOf(response.replace('"pressure"', '"other"')), { wrong: 'no attribute pressure' })
  t.same(readingOf(response.replace('"accuracy"', '"other"')), { wrong: 'metadata of humidity is not complete' })
  t.same(readingOf('{}'), { wrong: 'no attribute humidity' })
})

test('a response is a success only when every NGSI code in it is 200', async (t) => {
  const item = (code: string) => ({ contextElement: {}, statusCode: { code } })
  t.equal(refusalIn(JSON.stringify({ contextResponses: [item('200'), item('200')] })), undefined)
  t.equal(refusalIn(JSON.stringify(item('200'))), undefined)
  for (const failure of [
    { contextResponses: [item('200'), item('404')] },
    { errorCode: { code: '400' } },
    { orionError: { code: '400' } },
    item('404'),
    {},
  ]) {
    t.type(refusalIn(JSON.stringify(failure)), 'string', JSON.stringify(failure))
  }
  t.match(refusalIn('<html>'), /no JSON/)
})
