// Lets the page work offline: registers service-worker.js, which keeps one whole build of the page on this device.
//
// index.html runs this before its content security policy: from there on no worker from an address can start. It adds
// to `globalThis.collectune`, which boot.js completes:
//
//     settled: Promise  // the page asks its host for nothing more: the copy is whole, or there will be none
//     newer: Promise    // a newer build is whole and waits; never settles where there is none
//     arrived()         // the page has what it needs: the copy may have the line now
//     reload()          // loads the page again, in the newer build where one waits
//
// Where service workers are missing or forbidden (a file, a private window, plain http), nothing of this happens.

(() => {
  "use strict";
  const page = (globalThis.collectune = {});
  const arrival = new Promise((resolve) => (page.arrived = resolve));
  let newer;

  const over = (worker) =>
    new Promise((resolve) => {
      const look = () => worker.state !== "installing" && resolve();
      worker.addEventListener("statechange", look);
      look();
    });

  let follow;
  page.newer = new Promise((resolve) => {
    follow = (registration) => {
      const offer = (worker) => {
        if (worker?.state !== "installed" || !registration.active) return;
        newer = worker;
        resolve();
      };
      const look = () => {
        const worker = registration.installing;
        if (!worker) return;
        arrival.then(() => worker.postMessage("arrived"));
        over(worker).then(() => offer(worker));
      };
      registration.addEventListener("updatefound", look);
      look();
      offer(registration.waiting);
    };
  });

  page.reload = () => {
    if (newer?.state !== "installed") return location.reload();
    newer.addEventListener("statechange", () => newer.state === "activated" && location.reload());
    newer.postMessage("take over");
  };

  const register = async () => {
    const registration = await navigator.serviceWorker.register("service-worker.js");
    // Whether there is a newer build, the browser itself asks a second or two after it has opened the page from its copy.
    follow(registration);
    if (registration.installing) await over(registration.installing);
  };
  page.settled = navigator.serviceWorker && isSecureContext ? register().catch(() => {}) : Promise.resolve();
})();
