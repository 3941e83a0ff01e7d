import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'

/** Takes a request as Node gives it and answers it; never throws. */
export type Serve = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/**
 * The Hono application of a front end, as a listener of Node's server. Bodies are read from and answers written to
 * Node's own objects: the web standard's cost a tenth of the requests. One route takes everything, because Hono's router
 * neither compares without regard to case nor splits a path before it is decoded [management 1].
 */
export function requestListener(serve: Serve): Serve {
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.all('*', ({ env }) => {
    serve(env.incoming, env.outgoing)
    return RESPONSE_ALREADY_SENT
  })
  let latest: HttpBindings | undefined
  const adapter = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
    hostname: 'localhost',
    // The adapter has no URL for some targets and hosts that HTTP allows. It calls this before it returns to us.
    errorHandler: (fault) => {
      if (!(fault instanceof RequestError)) throw fault
      if (latest !== undefined) serve(latest.incoming, latest.outgoing)
    },
  })
  return (incoming, outgoing) => {
    latest = { incoming, outgoing }
    void adapter(incoming, outgoing)
  }
}
