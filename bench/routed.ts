import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { Application } from '../src/http/application.js'
import { helpWith } from './helper.js'

/** Which way a request goes to its answer. */
export type Way = 'bare Hono' | 'through Hono' | 'remembered'

export interface RoutedTask {
  readonly way: Way
}

export interface RoutedReply {
  readonly url: string
  /** Processor time of the process since it began. */
  readonly processor_us: number
}

const patterns = ['/v1/updateContext', '/v1/contextEntities/{id}', '/v1/contextEntities/{id}/attributes/{name}']
const text = '{"contextElement":{"type":"Pump","isPattern":"false","id":"P1"}}'
const json = { 'Content-Type': 'application/json' }

/** A Hono server as one would write it: the body through `Request`, the answer through `Response`. */
function bareHono(): RequestListener {
  const app = new Hono()
  for (const pattern of patterns) {
    const path = pattern.replaceAll('{', ':').replaceAll('}', '')
    app.get(path, (c) => c.body(text, 200, json))
    app.post(path, async (c) => c.body(await c.req.text(), 200, json))
  }
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false })
  return (incoming, outgoing) => void listener(incoming, outgoing)
}

/** The broker's routing in front of the same work done with Node's objects. */
function routed(remembered_bytes?: number): RequestListener {
  const resources = patterns.map((pattern) => ({ pattern, anyCase: true, operations: {} }))
  const application = new Application(
    resources,
    (incoming, outgoing) => {
      const answer = (body: string) => {
        outgoing?.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', `${Buffer.byteLength(body)}`])
        outgoing?.end(body)
      }
      if (incoming.method === 'GET') return answer(text)
      const pieces: Buffer[] = []
      incoming.on('data', (piece: Buffer) => pieces.push(piece))
      incoming.on('end', () => answer(Buffer.concat(pieces).toString()))
    },
    remembered_bytes,
  )
  return (incoming, outgoing) => application.route(incoming, outgoing)
}

function listening(listener: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 0 }, listener)
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })
}

const urls: Readonly<Record<Way, Promise<string>>> = {
  'bare Hono': listening(bareHono()),
  'through Hono': listening(routed(0)),
  remembered: listening(routed()),
}
helpWith<RoutedTask, RoutedReply>(async ({ way }) => {
  const { user, system } = process.cpuUsage()
  return { url: await urls[way], processor_us: user + system }
})
