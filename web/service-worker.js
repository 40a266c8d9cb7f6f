// Keeps one whole build of the page on this device, so that it opens without a network.
//
// All files of a build lie in one cache that is named after the build, and each was checked against its hash when it
// came: files of two builds are never mixed. A newer build is fetched beside the one in use and waits until the user
// asks for it or until no tab shows the page any more. It makes no request but for the files of its list, and passes
// on what else a tab of its folder asks of its own host.
//
// The build writes down which files there are: path (the page itself is "") and hash.

"use strict";

const BUILD = "";
const FILES = {};

const HERE = new URL("./", location);
// A host has one set of caches, and another copy of the page may lie in another folder of it.
const OURS = `collectune ${HERE.pathname} `;
const NAME = OURS + BUILD;

// The page comes first: while it loads, a copy of its files would only halve its share of a slow line.
let arrived;
const arrival = new Promise((resolve) => (arrived = resolve));
const MOST_PATIENCE_MS = 60_000;

const keep = async () => {
  await Promise.race([arrival, new Promise((resolve) => setTimeout(resolve, MOST_PATIENCE_MS))]);
  const cache = await caches.open(NAME);
  const copy = async ([path, integrity]) => {
    const url = new URL(path, HERE);
    const get = async (mode) => {
      const response = await fetch(url, { integrity, cache: mode });
      if (!response.ok) throw new Error(`${url}: ${response.status}`);
      return response;
    };
    // What the browser holds already may be of another build.
    await cache.put(url, await get("default").catch(() => get("reload")));
  };
  try {
    await Promise.all(Object.entries(FILES).map(copy));
  } catch (error) {
    await caches.delete(NAME);
    throw error;
  }
};

// A tab of the build before may still be loading its files while another tab is here.
const tidy = async () => {
  const windows = await clients.matchAll({ type: "window", includeUncontrolled: true });
  if (windows.filter((tab) => tab.url.startsWith(HERE.href)).length > 1) return;
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(OURS) && name !== NAME).map((name) => caches.delete(name)));
};

const answer = async (request, path) => {
  const url = new URL(path, HERE);
  const kept = path in FILES ? await (await caches.open(NAME)).match(url) : await caches.match(url);
  return kept ?? fetch(request);
};

addEventListener("install", (event) => event.waitUntil(keep()));
addEventListener("activate", (event) => event.waitUntil(tidy()));
addEventListener("message", (event) => {
  if (event.data === "arrived") arrived();
  if (event.data === "take over") skipWaiting();
});
addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || !url.href.startsWith(HERE.href)) return;
  const path = url.pathname.slice(HERE.pathname.length);
  event.respondWith(answer(request, path === "index.html" ? "" : path));
  if (request.mode === "navigate") event.waitUntil(tidy());
});
