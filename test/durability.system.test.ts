import { test } from 'tap'
import { killUnderLoad, newDevices } from './fed-devices.js'
import { RunningBroker } from './running.js'

for (const flags of [
  ['-partitions', '1', '-httpThreads', '1'],
  ['-partitions', '3', '-httpThreads', '2'],
]) {
  test(`every acknowledged update survives SIGKILL under load, three times in a row (${flags.join(' ')})`, async (t) => {
    const broker = await RunningBroker.start(t, flags)
    const devices = newDevices(24)
    for (let round = 0; round < 3; round += 1) await killUnderLoad(t, broker, devices)
  })
}
