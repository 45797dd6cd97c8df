// The page sends a request to /v1/generate and shows the tokens as they come.

const kinds = [
  ["json_schema", "JSON schema"],
  ["regex", "regex"],
  ["grammar", "EBNF"],
  ["structural_tag", "structural tag"],
  ["json", "any JSON"],
  ["", "none"],
];

const person = {
  type: "object",
  properties: {
    name: { type: "string", maxLength: 12 },
    age: { type: "integer", minimum: 0, maximum: 120 },
    city: { enum: ["Lisbon", "Oslo", "Kyoto"] },
    tags: { type: "array", items: { type: "string", maxLength: 10 }, maxItems: 4 },
    active: { type: "boolean" },
  },
  required: ["name", "age", "city", "tags", "active"],
};
const tool = {
  anyOf: [
    { type: "object", properties: { tool: { const: "weather" }, city: { type: "string", maxLength: 20 }, unit: { enum: ["celsius", "fahrenheit"] } }, required: ["tool", "city", "unit"] },
    { type: "object", properties: { tool: { const: "search" }, query: { type: "string", maxLength: 40 }, limit: { type: "integer", minimum: 1, maximum: 50 } }, required: ["tool", "query", "limit"] },
  ],
};
const tree = {
  $defs: { node: { type: "object", properties: { value: { type: "integer", minimum: 0, maximum: 99 }, children: { type: "array", items: { $ref: "#/$defs/node" }, maxItems: 2 } }, required: ["value", "children"] } },
  $ref: "#/$defs/node",
};
const tag = {
  type: "structural_tag",
  format: { type: "sequence", elements: [
    { type: "const_string", value: "<call>" },
    { type: "json_schema", json_schema: person },
    { type: "const_string", value: "</call>" },
  ] },
};
const show = (x) => JSON.stringify(x, null, 2);
const examples = [
  ["A person", "json_schema", show(person)],
  ["A call of a tool", "json_schema", show(tool)],
  ["A tree that refers to itself", "json_schema", show(tree)],
  ["A date and a time", "regex", "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]) at ([01][0-9]|2[0-3]):[0-5][0-9]"],
  ["Arithmetic", "grammar", 'root ::= sum " = " number\nsum ::= product (" + " product){1,3}\nproduct ::= factor (" * " factor){0,2}\nfactor ::= number | "(" sum ")"\nnumber ::= [1-9] [0-9]{0,2}\n'],
  ["Text around JSON", "structural_tag", show(tag)],
  ["Any JSON", "json", ""],
  ["No constraint", "", ""],
];

const $ = (id) => document.getElementById(id);
let vocabulary = 0;
let running = null; // an AbortController

for (const [value, label] of kinds) {
  const item = document.createElement("label");
  const radio = Object.assign(document.createElement("input"), { type: "radio", name: "kind", value });
  const text = document.createElement("span");
  text.textContent = label;
  item.append(radio, text);
  radio.addEventListener("change", arrange);
  $("kinds").append(item);
}
examples.forEach(([name], i) => $("example").append(new Option(name, i)));

const kind = () => document.querySelector("input[name=kind]:checked").value;

function arrange() {
  $("source").hidden = kind() === "json" || kind() === "";
  $("spaces").hidden = kind() !== "json_schema";
}

function choose() {
  const [, k, source] = examples[$("example").value];
  document.querySelector(`input[name=kind][value="${k}"]`).checked = true;
  $("source").value = source;
  arrange();
}

function request() {
  const r = { prompt: $("prompt").value, max_tokens: +$("tokens").value, temperature: +$("temperature").value, seed: +$("seed").value, stream: true };
  const k = kind();
  if (k === "json") r.json = true;
  else if (k === "json_schema") Object.assign(r, { json_schema: $("source").value, whitespace: $("whitespace").checked });
  else if (k) r[k] = $("source").value;
  return r;
}

function say(state, text) {
  $("status").dataset.state = state;
  $("status").textContent = text;
}

const percent = (x) => `${(100 * x).toFixed(x > 0.99 && x < 1 ? 1 : 0)} %`;

// Answer collects what comes and shows it.
class Answer {
  text = "";
  tokens = 0;
  forced = 0;
  masked = 0;
  bars = [];

  constructor() {
    $("text").replaceChildren();
    $("chart").replaceChildren();
    for (const id of ["n-masked", "n-steps", "n-grammar", "n-total"]) $(id).textContent = "–";
    $("pretty").hidden = true;
    this.numbers();
  }

  token(t) {
    const span = document.createElement("span");
    const share = t.forced ? 1 : 1 - t.allowed / vocabulary;
    span.className = t.forced ? "forced" : t.drafted ? "drafted" : "model";
    span.textContent = t.text.replaceAll("\n", "⏎\n");
    span.title = `token ${t.token}: ` + (t.forced ? "forced" : `${t.allowed} of ${vocabulary} tokens were allowed`);
    $("text").append(span);
    this.text += t.text;
    this.tokens++;
    if (t.forced) this.forced++;
    else this.masked += share;
    this.bars.push([share, span.className]);
  }

  // show brings the page up to date after the tokens of one read.
  show() {
    this.numbers();
    const width = 600 / Math.max(this.bars.length, 60);
    $("chart").replaceChildren(...this.bars.map(([share, name], i) => {
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const height = Math.max(1, 86 * share);
      for (const [k, v] of Object.entries({ x: i * width, y: 90 - height, width: width * 0.86, height, class: name })) bar.setAttribute(k, v);
      return bar;
    }));
    $("text").scrollTop = $("text").scrollHeight;
  }

  numbers() {
    $("n-tokens").textContent = this.tokens;
    $("n-forced").textContent = percent(this.tokens ? this.forced / this.tokens : 0);
    const chosen = this.tokens - this.forced;
    if (chosen) $("n-masked").textContent = percent(this.masked / chosen);
  }

  done(d) {
    $("n-steps").textContent = d.usage.model_steps;
    $("n-grammar").textContent = d.grammar_cached ? "cached" : `${d.grammar_ms.toFixed(1)} ms`;
    $("n-total").textContent = `${d.total_ms.toFixed(1)} ms`;
    const whole = d.complete ? "The text follows the whole grammar." : "The text is the beginning of one that follows the grammar.";
    say("done", d.finish === "stop" ? `Done. ${whole}` : `${d.usage.output_tokens} tokens were written. ${whole}`);
    try {
      $("json").textContent = JSON.stringify(JSON.parse(this.text), null, 2);
      $("pretty").hidden = false;
    } catch { /* not JSON */ }
  }
}

const problem = (e) => e.error ? `${e.error.code}: ${e.error.message}` : "the server sent no error";

async function write(event) {
  event?.preventDefault();
  running?.abort();
  const control = running = new AbortController();
  $("halt").disabled = false;
  const answer = new Answer();
  say("busy", "Writing …");
  try {
    const response = await fetch("v1/generate", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request()), signal: control.signal });
    if (!response.ok) {
      say("error", problem(await response.json()));
      return;
    }
    await read(response.body, answer);
  } catch (e) {
    if (control !== running) return; // another request has begun
    say(control.signal.aborted ? "idle" : "error", control.signal.aborted ? "Stopped." : `The connection failed: ${e.message}`);
  } finally {
    if (control === running) {
      running = null;
      $("halt").disabled = true;
    }
  }
}

// read takes Server-Sent Events from the body of an answer.
async function read(body, answer) {
  let rest = "";
  let ended = false;
  for (const reader = body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) break;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const e of events) {
      const [, name, data] = e.match(/^event: (\w+)\ndata: (.*)$/);
      const d = JSON.parse(data);
      if (name === "token") answer.token(d);
      else {
        ended = true;
        if (name === "done") answer.done(d);
        else say("error", problem(d));
      }
    }
    answer.show();
  }
  if (!ended) say("error", "The connection ended before the text did.");
}

$("form").addEventListener("submit", write);
$("halt").addEventListener("click", () => running?.abort());
$("example").addEventListener("change", choose);
addEventListener("keydown", (e) => { if ((e.ctrlKey || e.metaKey) && e.key === "Enter") write(e); });
$("example").value = 0;
choose();
const limits = await (await fetch("v1/limits")).json();
vocabulary = limits.vocabulary;
$("tokens").max = limits.max_tokens;
document.body.dataset.ready = "yes";
