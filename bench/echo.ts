import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { helpWith } from './helper.js'

/** What every read is answered from now on. */
export interface EchoTask {
  readonly constant: string
}

export interface EchoReply {
  readonly url: string
}

const json = { 'Content-Type': 'application/json' }

/**
 * The reference, as a process of its own: what the broker's HTTP framework does without a broker, on one thread. The JSON
 * of an update is parsed and answered; that of a query is parsed and, like a GET, answered with a constant.
 */
function listening(): Promise<(task: EchoTask) => EchoReply> {
  let constant = ''
  const app = new Hono()
  app.post('/v1/queryContext', async (c) => {
    await c.req.json()
    return c.body(constant, 200, json)
  })
  app.post('*', async (c) => c.json(await c.req.json()))
  app.get('*', (c) => c.body(constant, 200, json))
  return new Promise((resolve) => {
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: AddressInfo) =>
      resolve((task) => {
        constant = task.constant
        return { url: `http://127.0.0.1:${port}` }
      }),
    )
  })
}

const echo = listening()
helpWith<EchoTask, EchoReply>(async (task) => (await echo)(task))
