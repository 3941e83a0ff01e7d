import type { DelaysReply } from './delays.js'
import type { Bench, Harness } from './harness.js'
import { Helper } from './helper.js'
import type { ListenerTask } from './listener.js'
import { measureNotified, type Notified, postedTo, type Receiver } from './notify.js'
import { subscribe } from './subscriber.js'

type Listener = Helper<ListenerTask, DelaysReply>

/** As many streams leave room for the connections of the load (`-maxConnections`). */
const mostStreams = 900

/** What clients without an endpoint get, beside what receivers are posted. */
export const streams: Bench = {
  name: 'streams',
  question:
    'notifications on event streams, one for each subscription: rate and delay beside those posted to a receiver',
  run: async (harness) => {
    const listener: Listener = new Helper('./listener.js')
    const receiver: Receiver = new Helper('./receiver.js')
    const both = [
      listenedTo(listener, { bench: 'streams', way: 'event streams' }),
      postedTo(receiver, { bench: 'streams', way: 'HTTP receiver' }),
    ]
    try {
      for (const subscriptions of numbersOf(harness)) {
        for (const notified of both) await measureNotified(harness, notified, subscriptions)
      }
    } finally {
      await Promise.all([listener.end(), receiver.end()])
    }
  },
}

/** Those that clients listen to, each on a stream of its own. */
function listenedTo(listener: Listener, line: Notified['line']): Notified {
  return {
    line,
    subscribe: async (url, meant) => {
      const ids = await subscribe(url, 'sse:', meant)
      await listener.ask({ reset: true, urls: ids.map((id) => `${url}/v1/subscriptions/${id}/events`) })
    },
    arrived: (reset) => listener.ask({ reset }),
  }
}

function numbersOf({ options }: Harness): readonly number[] {
  return [...new Set(options.subscriptions.map((number) => Math.min(number, mostStreams)))]
}
