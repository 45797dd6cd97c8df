// Talks to the server with the npm client of OpenAI, and with Vercel's ai on two providers. Usage: node client.mjs URL.
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, Output, stepCountIs, streamObject, streamText, tool } from "ai";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const baseURL = process.argv[2] + "/v1";
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const ask = { model: "toy", messages: [{ role: "user", content: "Anna is" }] };
const Person = z.object({ name: z.enum(["Anna", "Boris"]), age: z.number().int().min(0).max(120) });
const City = z.object({ city: z.enum(["Oslo", "Paris"]) });

async function openai() {
  assert.deepEqual((await client.models.list()).data.map((m) => m.id), ["toy"]);
  assert.equal((await client.models.retrieve("toy")).id, "toy");

  const format = zodResponseFormat(Person, "person");
  for (let seed = 0; seed < 5; seed++) {
    const reply = await client.chat.completions.parse({ ...ask, seed, response_format: format });
    Person.parse(reply.choices[0].message.parsed);
    const stream = client.chat.completions.stream({ ...ask, seed, response_format: format, stream_options: { include_usage: true } });
    const streamed = await stream.finalChatCompletion();
    assert.deepEqual(streamed.choices[0].message.parsed, reply.choices[0].message.parsed);
    assert.deepEqual(streamed.usage, reply.usage);
  }

  const cities = [];
  const weather = {
    type: "function",
    function: {
      name: "weather",
      strict: true,
      parameters: { type: "object", properties: { city: { enum: ["Oslo"] } }, required: ["city"], additionalProperties: false },
      parse: JSON.parse,
      function: ({ city }) => cities.push(city),
    },
  };
  const choice = { type: "function", function: { name: "weather" } };
  const run = client.chat.completions.runTools({ ...ask, seed: 3, tools: [weather], tool_choice: choice }, { maxChatCompletions: 1 });
  await run.done();
  assert.deepEqual(cities, ["Oslo"]);

  const started = await client.chat.completions.create({ ...ask, stream: true, max_completion_tokens: 1000 });
  for await (const _ of started) {
    started.controller.abort(); // a client that leaves
  }
  for (const missing of [
    () => client.completions.create({ model: "toy", prompt: "x" }),
    () => client.responses.create({ model: "toy", input: "x" }),
    () => client.embeddings.create({ model: "toy", input: "x" }),
    () => client.chat.completions.create({ ...ask, model: "gpt" }),
  ]) {
    await assert.rejects(missing, (e) => e instanceof OpenAI.NotFoundError && e.type === "invalid_request_error");
  }
  await assert.rejects(client.chat.completions.create({ ...ask, top_logprobs: 2 }), (e) => e.status === 400 && e.param === "top_logprobs");
}

async function ai(model) {
  const base = { model, prompt: "Anna is", maxRetries: 0, seed: 1 };
  const fails = { onError: ({ error }) => { throw error; } };

  const text = await generateText({ ...base, maxOutputTokens: 20, temperature: 0.5, topP: 0.9, stopSequences: ["zz"], presencePenalty: 0.1, frequencyPenalty: 0.1 });
  assert.deepEqual(text.warnings, []);
  assert(text.usage.outputTokens > 0);
  const stream = streamText({ ...base, ...fails, maxOutputTokens: 20 });
  let streamed = "";
  for await (const part of stream.textStream) streamed += part;
  assert(streamed !== "" && (await stream.usage).outputTokens > 0);

  const object = (await generateObject({ ...base, schema: Person })).object;
  Person.parse(object);
  const objects = streamObject({ ...base, ...fails, schema: Person });
  let last;
  for await (const part of objects.partialObjectStream) last = part;
  assert.deepEqual(last, object);
  assert.deepEqual((await generateText({ ...base, output: Output.object({ schema: Person }) })).output, object);
  assert(["red", "blue"].includes((await generateObject({ ...base, output: "enum", enum: ["red", "blue"] })).object));

  const tools = {
    weather: tool({ inputSchema: City, execute: async ({ city }) => city + ": rain" }),
    now: tool({ inputSchema: z.object({}), execute: async () => "noon" }),
  };
  const called = await generateText({ ...base, tools, toolChoice: "required", stopWhen: stepCountIs(1) });
  assert(called.toolCalls.length > 0 && called.toolResults.length === called.toolCalls.length);
  const both = await generateText({ ...base, tools, output: Output.object({ schema: Person }), stopSequences: ["zz"], stopWhen: stepCountIs(1) });
  if (both.toolCalls.length === 0) Person.parse(both.output);
  const steps = streamText({ ...base, ...fails, tools, toolChoice: { type: "tool", toolName: "weather" }, stopWhen: stepCountIs(1) });
  let results = 0;
  for await (const part of steps.fullStream) results += part.type === "tool-result" ? 1 : 0;
  assert.equal(results, 1);
}

await openai();
await ai(createOpenAICompatible({ name: "toy", baseURL, supportsStructuredOutputs: true, includeUsage: true })("toy"));
await ai(createOpenAI({ baseURL, apiKey: "none" }).chat("toy"));
console.log("all is right");
