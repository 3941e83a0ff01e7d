import { readFileSync } from 'node:fs'
import { missingBrowser, serveChromium } from '../../bench/chromium.js'
import { EtcdProcesses, etcdMembers, hasEtcd } from '../../bench/cluster/etcd-processes.js'
import { etcdOfRun } from '../cluster/etcd-members.js'
import { browserOfRun } from '../console/browser.js'
import { newMemoryFolder, removeLeftFolders, removeMemoryFolder } from '../memory-folder.js'

type End = () => Promise<void>

/** Starts what several of some files want, once for all of them: an etcd and a browser. Gives what ends it. */
export async function sharedServices(files: readonly string[]): Promise<End> {
  const texts = files.map((file) => readFileSync(file, 'utf8'))
  const areSeveral = (text: string) => texts.filter((each) => each.includes(text)).length > 1
  removeLeftFolders()
  const ends: End[] = []
  if (areSeveral('EtcdMembers.ofRun') && hasEtcd()) ends.push(await startEtcd())
  if (areSeveral('/browser.js') && missingBrowser() === undefined) ends.push(await startBrowser())
  return async () => {
    for (const end of ends) await end()
  }
}

async function startEtcd(): Promise<End> {
  const folder = newMemoryFolder()
  const etcd = new EtcdProcesses(await etcdMembers(1, folder))
  etcd.startAll()
  await etcd.untilHealthy()
  process.env[etcdOfRun] = etcd.urls[0]
  return async () => {
    await etcd.end()
    removeMemoryFolder(folder)
  }
}

async function startBrowser(): Promise<End> {
  const server = await serveChromium()
  process.env[browserOfRun] = server.wsEndpoint()
  return () => server.close()
}
