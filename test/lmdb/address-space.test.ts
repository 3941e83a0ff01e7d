import { test } from 'tap'
import { spaceMissing } from '../../src/storage/environment/address-space.js'

const GiB = 2 ** 30
const TiB = 2 ** 40
const unlimited = { used_bytes: GiB, limit_bytes: Number.POSITIVE_INFINITY }

test('maps fit into the half of the address space that is not scattered over, which is most of 64 TiB', async (t) => {
  const missing = (environments: number, sizeMax_bytes: number) =>
    spaceMissing({ environments, sizeMax_bytes, others_bytes: 0 }, unlimited)
  t.equal(missing(257, 64 * GiB), undefined, 'the default size for the most partitions')
  t.equal(missing(2, 8 * TiB), undefined, 'the largest size, for one partition')
  t.equal(missing(4, 8 * TiB), 'the address space has no room for 4 maps of 16793600 MiB: lower -dbSizeMax')
})

test('maps fit within the limit of the process, beside what it has and will take', async (t) => {
  const missing = (limit_bytes: number, environments = 2) =>
    spaceMissing({ environments, sizeMax_bytes: 64 * GiB, others_bytes: 8 * GiB }, { used_bytes: GiB, limit_bytes })
  t.equal(missing(2 * 144 * GiB + 9 * GiB), undefined)
  t.equal(
    missing(2 * 144 * GiB + 9 * GiB - 1),
    'the address space has no room for 2 maps of 147456 MiB within the limit of 304127 MiB: raise it (ulimit -v 311427072), or lower -dbSizeMax',
  )
  t.match(
    missing(20 * GiB, 1),
    /no room for a map of 147456 MiB within the limit of 20480 MiB: raise it \(ulimit -v 160432128\)$/,
  )
})
