"""The Python peer of the servers: chat completions by uvicorn, on the same model, with masks of xgrammar's binding classes.

Usage: serve.py toy CORPUS XGRAMMAR, or serve.py FOLDER XGRAMMAR with a folder of llm_server. Requests share a step, as in Go: all that wait
when a step ends are in the next one, and one thread takes the steps while the loop of events answers. The body of a request is that of bench/run -serve.
"""

import asyncio
import json
import os
import pathlib
import re
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tvm_ffi
import uvicorn

CHATS, CONTEXT, ROWS, WORDS = 8, 2048, 16, 49152


def classes(library):
    package = types.ModuleType("xgrammar")  # the package itself imports torch
    package.__path__ = [os.path.dirname(library)]
    sys.modules["xgrammar"] = package
    tvm_ffi.load_module(library)
    from xgrammar import tvm_ffi_binding

    return tvm_ffi_binding


class Toy:
    """The toy of xgrammar_server: it learns which words follow which."""

    name, chats = "toy", 1 << 30

    def __init__(self, corpus):
        self.pieces = re.compile(r"(?s) ?[^\W\d_]+|.")
        self.words = [b"</s>"] + [bytes([b]) for b in range(256)]
        self.number = {w: i for i, w in enumerate(self.words)}
        for word in self.pieces.findall(corpus):
            if word.encode() not in self.number:
                self.number[word.encode()] = len(self.words)
                self.words.append(word.encode())
        self.stops, self.kind, self.next = [0], 0, {}
        self.base = np.full(len(self.words), -12, np.float32)
        for line in corpus.splitlines():
            last = (-1, 0)
            for token in [*self.encode(line), 0]:
                self.base[token] = -8
                for context in ((-1, last[1]), last):
                    counts = self.next.setdefault(context, {})
                    counts[token] = counts.get(token, 0) + 1
                last = last[1], token
        for context, counts in self.next.items():
            scores = np.log(np.array(list(counts.values())) / sum(counts.values())) + 2 * (context[0] >= 0)
            self.next[context] = np.array(list(counts)), scores.astype(np.float32)
        self.closes = [i for i, w in enumerate(self.words) if not w.strip(b'"}])')] + [0]

    def encode(self, text):
        out = []
        for word in self.pieces.findall(text):
            word = word.encode()
            out += [self.number[word]] if word in self.number else [1 + b for b in word]
        return out

    def open(self, text):
        return types.SimpleNamespace(text=self.encode(f"user: {text}\n"))

    def close(self, chat):
        pass

    def step(self, chats):
        for chat in chats:
            scores = self.base.copy()
            last = (-1, 0)
            for token in chat.text[-2:]:
                last = last[1], token
            for context in ((-1, last[1]), last):
                if context in self.next:
                    tokens, values = self.next[context]
                    scores[tokens] = np.maximum(scores[tokens], values)
            scores[self.closes] += min(len(chat.text) * 0.05, 12)
            chat.scores = scores


class Smol:
    """SmolLM2, compiled by llm_server, on the virtual machine of TVM."""

    name, chats = "smollm2-135m", CHATS

    def __init__(self, folder):
        import tokenizers
        import tvm
        from tvm import relax

        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.words = [w for w, _ in sorted(self.tokenizer.get_vocab().items(), key=lambda x: x[1])]
        self.stops, self.kind = [2, 0], 2
        self.never = [t for t in range(len(self.words)) if t not in self.stops and re.fullmatch(r"<[|\w]+>", self.words[t])]
        self.machine = relax.VirtualMachine(tvm.runtime.load_module(str(folder / "model.so")), tvm.cpu())
        about = json.loads(str(self.machine["_metadata"]()))
        tvm.get_global_func("vm.builtin.tensor_cache.load")(str(folder), 1, 0)
        get = tvm.get_global_func("vm.builtin.tensor_cache.get")
        self.weights = tvm_ffi.Array([get(p["name"]) for p in about["params"]])
        tvm.get_global_func("vm.builtin.tensor_cache.clear")()
        empty = lambda *shape, dtype: tvm.runtime.empty(shape, dtype)
        self.cache = empty(CHATS, *about["cache"], dtype="float16")
        self.logits, self.plans = empty(CHATS, WORDS, dtype="float32"), {n: empty(n + 1, 4, dtype="int32") for n in (1, ROWS)}
        view = lambda x: np.from_dlpack(x)
        self.scores, self.plan = view(self.logits), {n: view(x) for n, x in self.plans.items()}
        self.functions = {1: self.machine["one"], ROWS: self.machine["several"]}
        self.idle = [types.SimpleNamespace(text=[], done=0, place=i) for i in range(CHATS)]

    def open(self, text):
        system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
        text = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
        tokens = self.tokenizer.encode(text).ids
        same = lambda chat: next((i for i, (a, b) in enumerate(zip(chat.text[: chat.done], tokens)) if a != b), min(chat.done, len(tokens)))
        chat = max(self.idle, key=same)
        self.idle.remove(chat)
        chat.done = min(same(chat), len(tokens) - 1)
        chat.text = tokens
        return chat

    def close(self, chat):
        self.idle.append(chat)

    def step(self, chats):
        more, rows, wanted = ROWS - len(chats), [], []
        for chat in chats:
            chat.rows = 1 + min(more, len(chat.text) - chat.done - 1)
            more -= chat.rows - 1
            rows += [(chat.text[chat.done + i], chat.done + i, chat.place) for i in range(chat.rows)]
            if chat.done + chat.rows == len(chat.text):
                wanted.append(len(rows) - 1)
        n = 1 if len(rows) == 1 else ROWS
        while n > 1 and len(wanted) % 4:
            wanted.append(wanted[-1])
        plan = self.plan[n]
        plan[0, :2] = len(rows), len(wanted)
        plan[1 : 1 + len(rows), :3] = rows
        plan[1 : 1 + len(wanted), 3] = wanted
        self.functions[n](self.plans[n], self.cache, self.logits, self.weights)
        for chat in chats:
            chat.done += chat.rows
            chat.scores = None
            if chat.done == len(chat.text):
                chat.scores = self.scores[chat.place]
                chat.scores[self.never] = -np.inf


class Server:
    def __init__(self, model, x):
        self.model, self.x = model, x
        self.info = x.TokenizerInfo(model.words, model.kind, len(model.words), model.stops, False)
        self.compiler = x.GrammarCompiler(self.info, 1, True, 64 << 20, False)
        self.texts = [bytes(w) for w in self.info.decoded_vocab()]
        self.waiting, self.come, self.room = [], asyncio.Event(), asyncio.Semaphore(min(model.chats, 1 << 20))
        self.thread = ThreadPoolExecutor(1)

    async def run(self):
        loop = asyncio.get_running_loop()
        while True:
            await self.come.wait()
            self.come.clear()
            while self.waiting:
                now, self.waiting = self.waiting, []
                await loop.run_in_executor(self.thread, self.model.step, [job.chat for job in now])
                for job in now:
                    if job.chat.scores is None:
                        self.waiting.append(job)
                    else:
                        job.ready.set_result(None)
                await asyncio.sleep(0)  # those who have scores choose

    async def scores(self, chat):
        job = types.SimpleNamespace(chat=chat, ready=asyncio.get_running_loop().create_future())
        self.waiting.append(job)
        self.come.set()
        await job.ready
        return chat.scores

    async def write(self, q):
        schema = json.dumps(q["response_format"]["json_schema"]["schema"])
        compiled = self.compiler.compile_json_schema(schema, False, None, None, True, None, False)
        matcher = self.x.GrammarMatcher(compiled, None, False, -1, None)
        words = np.zeros((1, (len(self.model.words) + 31) // 32), "int32")
        mask, chance, answer = tvm_ffi.from_dlpack(words), np.random.default_rng(q["seed"]), []
        async with self.room:
            chat = self.model.open(q["messages"][0]["content"])
            prompt = len(chat.text)
            try:
                while len(answer) < q["max_tokens"]:
                    scores = await self.scores(chat)
                    matcher.fill_next_token_bitmask(mask, 0, False)
                    allowed = np.unpackbits(words.view(np.uint8), bitorder="little")[: len(scores)].nonzero()[0]
                    some = scores[allowed] / q["temperature"]
                    weights = np.exp(some - some.max()).cumsum()
                    token = int(allowed[np.searchsorted(weights, chance.random() * weights[-1])])
                    matcher.accept_token(token, False)
                    if token in self.model.stops:
                        return prompt, answer, "stop"
                    answer.append(token)
                    chat.text.append(token)
                return prompt, answer, "length"
            finally:
                self.model.close(chat)

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        prompt, answer, finish = await self.write(json.loads(body))
        text = b"".join(self.texts[t] for t in answer).decode(errors="replace")
        reply = {"object": "chat.completion", "model": self.model.name, "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
                 "usage": {"prompt_tokens": prompt, "completion_tokens": len(answer), "total_tokens": prompt + len(answer)}}
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": json.dumps(reply).encode()})


async def main():
    x = classes(sys.argv[-1])
    model = Toy(pathlib.Path(sys.argv[2]).read_text()) if sys.argv[1] == "toy" else Smol(pathlib.Path(sys.argv[1]))
    app = Server(model, x)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off", access_log=False))
    steps = asyncio.create_task(app.run())

    async def listening():
        while not server.started:
            await asyncio.sleep(0.05)
        print(f"url=http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", file=sys.stderr, flush=True)

    say = asyncio.create_task(listening())
    await server.serve()
    steps.cancel()
    await asyncio.gather(say)


asyncio.run(main())
