import { openRoot } from '../../src/storage/environment/environment.js'
import { writeInTransaction } from '../../src/storage/environment/write-transaction.js'
import { storeSettings } from '../given.js'

// Holds the write lock of an environment for as long as it runs: every other writer waits for it, in whichever process.
const [, , path = ''] = process.argv
const root = openRoot(path, { ...storeSettings, readOnly: false })
writeInTransaction(
  root,
  () => {
    process.stdout.write('held\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
  undefined,
)
