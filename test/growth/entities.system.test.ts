import { entityOperations } from './dimensions.js'
import { testGrowth } from './growth.js'

testGrowth(entityOperations)
