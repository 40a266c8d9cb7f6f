// Lets the page work offline: registers service-worker.js, which keeps one whole build of the page on this device.
//
// index.html runs this before its content security policy: from there on no worker from an address can start. It adds
// to `globalThis.collectune`, which boot.js completes:
//
//     settled: Promise  // nothing more will be asked of the host: the copy is whole, or there will be none
//     newer: Promise    // a newer build is whole and waits; never settles where there is none
//     arrived()         // the page has what it needs: the copy may have the line now
//     reload()          // loads the page again, in the newer build where one waits
//
// Where service workers are missing or forbidden (a file, a private window, plain http), nothing of this happens.

(() => {
  "use strict";
  const page = (globalThis.collectune = {});
  const arrival = new Promise((resolve) => (page.arrived = resolve));
  let registration;

  const over = (worker) =>
    new Promise((resolve) => {
      const look = () => worker.state !== "installing" && resolve();
      worker.addEventListener("statechange", look);
      look();
    });

  page.newer = new Promise((resolve) => {
    page.watch = (found) => {
      registration = found;
      const look = () => found.waiting && found.active && resolve();
      const follow = () => {
        const worker = found.installing;
        if (!worker) return;
        arrival.then(() => worker.postMessage("arrived"));
        over(worker).then(look);
      };
      found.addEventListener("updatefound", follow);
      follow();
      look();
    };
  });

  page.reload = () => {
    const waiting = registration?.waiting;
    if (!waiting) return location.reload();
    waiting.addEventListener("statechange", () => waiting.state === "activated" && location.reload());
    waiting.postMessage("take over");
  };

  const register = async () => {
    const found = await navigator.serviceWorker.register("service-worker.js");
    page.watch(found);
    // Without a network there is nothing newer.
    if (found.active) await found.update().catch(() => {});
    if (found.installing) await over(found.installing);
  };
  page.settled = navigator.serviceWorker && isSecureContext ? register().catch(() => {}) : Promise.resolve();
})();
