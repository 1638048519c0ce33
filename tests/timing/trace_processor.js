// Perfetto's trace processor, as its page has it for a worker of a browser, here in Node.
//
//     node trace_processor.js FOLDER < requests > answers
//
// FOLDER holds engine_bundle.js and the WebAssembly beside it; requests and answers are TraceProcessorRpcStream.
const fs = require("fs"), path = require("path"), vm = require("vm");

const read = (name) => fs.readFileSync(path.join(process.argv[2], path.basename(name)));
const tell = (...words) => process.stderr.write(words.join(" ") + "\n");
const worker = {
    TextDecoder, TextEncoder, URL, performance, setTimeout,
    WorkerGlobalScope: Object,
    location: { href: "file:///" },
    console: { log: tell, warn: tell, error: tell },
    fetch: async (name) => new Response(read(name), { headers: { "Content-Type": "application/wasm" } }),
    XMLHttpRequest: class {
        open(method, name) { this.response = read(name); }
        send() { this.status = 200; }
    },
};
worker.self = worker;
vm.createContext(worker);
vm.runInContext(read("engine_bundle.js").toString(), worker);

const port = { postMessage: (bytes) => fs.writeSync(1, bytes) };
worker.onmessage({ data: port });
const data = vm.runInContext("(bytes) => new Uint8Array(bytes)", worker)(fs.readFileSync(0));
const ask = (tries) => setTimeout(() => {
    try {
        port.onmessage({ data });
    } catch (error) {  // it is not ready yet
        if (!tries) throw error;
        ask(tries - 1);
    }
}, 50);
ask(400);
