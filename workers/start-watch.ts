import { workerData } from 'node:worker_threads'
import type { StartWatchTask } from '../src/runtime/start-watch.js'
import { endAtOnce, watchThreads } from '../src/runtime/watchdog.js'
import { onMessages } from '../src/threads/calls/messages.js'
import { ThreadBeats } from '../src/threads/shared-memory/thread-beats.js'

/** Watches the main thread while it starts the broker. */
const { beats, silence_s, control }: StartWatchTask = workerData
const stopLooking = watchThreads({
  beats: new ThreadBeats(beats),
  threads: [{ row: 0, name: 'the main thread, which starts the broker,' }],
  silence_s,
  standsStill: endAtOnce,
})
onMessages(control, () => {
  stopLooking()
  control.close()
})
