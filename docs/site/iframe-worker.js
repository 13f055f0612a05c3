// Browsers allow no workers on a page that was opened from a disk: there the search runs in a hidden frame instead.
if (location.protocol === "file:")
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inside.importScripts = (...addresses) =>
        addresses.reduce((before, next) => before.then(() => this.load(next)), Promise.resolve())
      this.ready = this.load(String(address))
    }
    load(address) {
      return new Promise((done, failed) => {
        const script = this.inside.document.createElement("script")
        script.src = address
        script.onload = done
        script.onerror = failed
        this.inside.document.body.appendChild(script)
      })
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })))
    }
    terminate() {}
  }
