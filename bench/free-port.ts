import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Above 10080, the last of the ports that `fetch` refuses, and below those that a system gives to those who name none: from 32,768 on
 * Linux, from 49,152 elsewhere.
 */
const lowest = 10_081
const highest = 32_767

/** So many numbers are tried: nearly all are free. */
const attempts = 100

/**
 * A TCP port that nothing listens on, for a process that is started later, perhaps more than once. It stays free for that
 * process: the system gives it to nobody, and no other call gives it, in whatever process, until this process ends.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest + 1))
    const reserved = await reserve(port)
    if (reserved === undefined) continue
    if (await isUnused(port)) return port
    reserved.close()
  }
  throw new Error(`no free port among ${attempts} from ${lowest} to ${highest}`)
}

/** Holds the UDP port of the same number, as a lock that ends with this process. Nothing if somebody else holds it. */
async function reserve(port: number): Promise<Socket | undefined> {
  const socket = createSocket('udp4').unref()
  try {
    socket.bind({ port, address: '127.0.0.1', exclusive: true })
    await once(socket, 'listening')
    return socket
  } catch {
    socket.close()
    return undefined
  }
}

async function isUnused(port: number): Promise<boolean> {
  const server = createServer().listen(port)
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
