"""Uses calls that take time. Usage: waits.py CASE LIBRARY"""

import asyncio
import atexit
import ctypes
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import tvm_ffi

early = []  # exit handlers that run after the handler of the library
atexit.register(lambda: [f() for f in early])
warnings.filterwarnings("ignore", category=DeprecationWarning)  # of fork with threads


async def awaited(start, *args):
    """Waits for a function of Go without blocking the loop."""
    loop = asyncio.get_running_loop()
    waiting = loop.create_future()
    ended = False

    def settle(result, error):  # in the loop
        nonlocal ended
        ended = True
        if not waiting.done():
            waiting.set_result((result, error))

    def done(result, error):  # on a thread of Go
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            pass  # the loop is closed, so nobody waits

    cancel = start(done, *args)
    try:
        result, error = await waiting
    except asyncio.CancelledError:
        # The context of Go ends. The task ends when the function has returned, so that nothing
        # of it runs on. A second cancellation does not wait.
        cancel()
        if not ended:
            waiting = loop.create_future()
            await waiting
        raise
    except BaseException:  # the coroutine is closed
        cancel()
        raise
    if error is not None:
        raise error.py_error()
    return result


def asynchronous(name):
    start = m.get_function("_async")(name)
    return lambda *args: awaited(start, *args)


def failure(f, *args):
    try:
        f(*args)
    except BaseException as e:  # KeyboardInterrupt too
        return e
    raise AssertionError("no error")


def settled(n):
    """Waits until what Go has of the calls is gone."""
    end = time.process_time() + 2
    while time.process_time() < end:
        gc.collect()
        if m.running() == 0 and all(now <= was for now, was in zip(m.counts(), n)):
            return
        time.sleep(0.01)
    raise AssertionError(f"{m.running()} calls, {list(m.counts())}, want {list(n)}")


def interrupt():
    """Sends Ctrl-C when a call waits."""

    def run():
        while m.running() == 0:
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=run).start()


async def until_running(n):
    while m.running() != n:
        await asyncio.sleep(0.005)


def methods():
    s = m.made(7)
    assert s.wait(1) == 7
    s.add(1, 5)
    assert s.n == 12 and s.get() == 12
    interrupt()
    e = failure(s.add, 20000, 1)
    assert type(e) is KeyboardInterrupt and s.n == 12, e
    e = failure(s.wait, "x")
    assert type(e) is TypeError, e


def results():
    wait, fill, apply, fails = map(asynchronous, ("wait", "fill", "apply", "fails"))

    async def main():
        assert await wait(1, "text") == "text"
        assert await asyncio.gather(*(wait(i % 7, str(i)) for i in range(50))) == [str(i) for i in range(50)]
        x = np.zeros(5, "float32")
        before = sys.getrefcount(x)
        await fill(tvm_ffi.from_dlpack(x), 3.5)
        assert (x == 3.5).all()
        for _ in range(500):  # until Go has released its reference
            if sys.getrefcount(x) == before:
                break
            await asyncio.sleep(0.01)
        assert sys.getrefcount(x) == before
        assert list(await apply(lambda v: v, tvm_ffi.Array([1, "two"]))) == [1, "two"]
        assert await apply(lambda v: v + "!", "a text that is longer than a small one") == "a text that is longer than a small one!"
        s = m.made(7)
        assert await asynchronous("waits.Slow.wait")(s, 1) == 7
        await asynchronous("waits.Slow.add")(s, 1, 5)
        assert s.n == 12
        for kind in (ValueError, KeyError, TypeError):
            try:
                await fails(kind.__name__)
                raise AssertionError("no error")
            except kind as e:
                assert "an error of the kind" in str(e), e
        for how, text in (("plain", "a plain error"), ("panic", "a panic"), ("goexit", "runtime.Goexit"), ("Own", "of the kind Own")):
            try:
                await fails(how)
                raise AssertionError("no error")
            except RuntimeError as e:
                assert text in str(e), e

        def bad(v):
            raise KeyError("from Python")

        try:
            await apply(bad, 1)
            raise AssertionError("no error")
        except KeyError as e:
            assert "from Python" in str(e), e
        for args, text in (((1,), "2 arguments"), (("x", "y"), "int"), ((), "2 arguments")):
            try:
                await wait(*args)
                raise AssertionError("no error")
            except TypeError as e:
                assert text in str(e), e

    n = m.counts()
    asyncio.run(main())
    settled(n)
    e = failure(asynchronous, "wat")
    assert type(e) is AttributeError and "did you mean wait?" in str(e), e
    e = failure(asynchronous, "running")
    assert "no function or method running that takes a context" in str(e), e
    start = m.get_function("_async")("wait")
    e = failure(start, 1, "x")
    assert type(e) is TypeError and "done(result, error)" in str(e), e
    assert tvm_ffi.get_global_func("waits._async")("wait") is not None
    # What the caller lends for the call only.
    e = failure(host.lend, m.get_function("_async")("fill"), lambda r, e: None)
    assert type(e) is TypeError and "from_dlpack" in str(e), e


def many():
    """A thousand at once, some of them cancelled."""
    held = asynchronous("held")

    async def main():
        tasks = [asyncio.create_task(held(False, str(i))) for i in range(1000)]
        await until_running(1000)
        for t in tasks[::3]:
            t.cancel()
        await asyncio.gather(*tasks[::3], return_exceptions=True)
        assert m.running() == 666, m.running()
        m.open()
        got = await asyncio.gather(*tasks, return_exceptions=True)
        for i, x in enumerate(got):
            assert isinstance(x, asyncio.CancelledError) if i % 3 == 0 else x == str(i), (i, x)
        assert m.running() == 0

    n = m.counts()
    for _ in range(3):
        asyncio.run(main())
    settled(n)
    threads = int([l for l in open("/proc/self/status") if l.startswith("Threads:")][0].split()[1]) if os.path.exists("/proc") else 0
    assert threads < 100, threads


def cancel():
    wait, held, big = map(asynchronous, ("wait", "held", "big"))

    async def main():
        try:
            await asyncio.wait_for(wait(60000, ""), 0.05)
            raise AssertionError("no error")
        except asyncio.TimeoutError:
            assert m.running() == 0
        # The task waits for a function that does not look at its context.
        t = asyncio.create_task(held(True, ""))
        await until_running(1)
        t.cancel()
        await asyncio.sleep(0.05)
        assert not t.done()
        m.open()
        assert isinstance((await asyncio.gather(t, return_exceptions=True))[0], asyncio.CancelledError)
        # A second cancellation does not wait.
        t = asyncio.create_task(held(True, ""))
        await until_running(1)
        for _ in range(2):
            await asyncio.sleep(0.01)
            t.cancel()
        assert isinstance((await asyncio.gather(t, return_exceptions=True))[0], asyncio.CancelledError)
        assert m.running() == 1
        m.open()
        await until_running(0)
        # The result of a cancelled call is released.
        for _ in range(20):
            t = asyncio.create_task(big(1 << 20))
            await asyncio.sleep(0)
            t.cancel()
            await asyncio.gather(t, return_exceptions=True)
        # A closed coroutine ends the context.
        c = wait(60000, "")
        c.send(None)
        await until_running(1)
        c.close()
        await until_running(0)

    n = m.counts()
    asyncio.run(main())
    settled(n)
    # cancel may come late and often, and done is called once.
    calls = []
    ended = threading.Event()
    stop = m.get_function("_async")("wait")(lambda r, e: (calls.append((r, e)), ended.set()), 60000, "x")
    for _ in range(3):
        stop()
    assert ended.wait(10)
    stop()
    time.sleep(0.05)
    assert len(calls) == 1 and calls[0][0] is None and "context canceled" in calls[0][1].message, calls


def loop_closed():
    wait = asynchronous("wait")

    async def begin():
        asyncio.ensure_future(wait(100, "x"))
        await asyncio.sleep(0.01)

    n = m.counts()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    for t in asyncio.all_tasks(loop):  # asyncio would say that it was destroyed while it was pending
        t._log_destroy_pending = False
    del t
    loop.close()
    time.sleep(0.2)
    settled(n)


def interrupted():
    """Ctrl-C cancels the task, and so the context of Go."""
    wait = asynchronous("wait")

    async def main():
        await wait(60000, "")

    interrupt()
    e = failure(asyncio.run, main())
    assert type(e) is KeyboardInterrupt, e
    settled([1 << 30, 1 << 30])


def in_flight():
    """The interpreter ends with calls in flight."""
    start = m.get_function("_async")
    for i in range(20):
        start("wait")(lambda r, e: None, 10 * i, "x")
        start("stubborn")(lambda r, e: None, 60000)
    time.sleep(0.02)


def in_flight_loop():
    wait = asynchronous("wait")
    loop = asyncio.new_event_loop()

    async def begin():
        for i in range(20):
            asyncio.ensure_future(wait(10 * i, "x"))._log_destroy_pending = False
        await asyncio.sleep(0.05)

    loop.run_until_complete(begin())


def late():
    """Calls after the exit of the interpreter has begun."""

    def run():
        for f, *args in ((m.plain,), (m.quick,), (m.wait, 1, "x"), (m.apply, lambda x: x, 1), (m.made(3).wait, 1)):
            try:
                f(*args)
            except RuntimeError as e:
                assert "is ending" in str(e), e
        try:
            m.get_function("_async")("wait")(lambda r, e: None, 1, "x")
        except RuntimeError as e:
            assert "is ending" in str(e), e

    early.append(run)
    early.append(lambda: print("done", flush=True))


def deleted():
    """__del__ of an object that ends with the interpreter calls Go."""

    class Last:
        def __init__(self):
            self.f, self.object, self.start = m.plain, m.made(3), m.get_function("_async")("wait")

        def __del__(self):
            try:
                self.f()
                self.object.get()
                self.object.wait(1)
                self.start(lambda r, e: None, 1, "x")
            except Exception:
                pass

    sys.modules["last"] = Last()
    globals()["last"] = Last()


def daemons():
    def run():
        while True:
            m.quick()
            m.apply(lambda x: x, 1)

    for _ in range(3):
        threading.Thread(target=run, daemon=True).start()
    time.sleep(0.1)


def streams():
    lib = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    set_stream = lib.TVMFFIEnvSetStream
    set_stream.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p]
    cuda, rocm = tvm_ffi.device("cuda", 0), tvm_ffi.device("rocm", 3)
    assert m.stream(cuda) == 0
    assert set_stream(2, 0, 0x1234, None) == 0 and set_stream(10, 3, 0x5678, None) == 0
    assert m.stream(cuda) == 0x1234 and m.stream(rocm) == 0x5678 and m.stream(tvm_ffi.device("cuda", 1)) == 0
    # A function of Python that Go calls on the other thread.
    get = lib.TVMFFIEnvGetStream
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_int32, ctypes.c_int32]
    assert m.inner(lambda: get(2, 0) or 0) == 0x1234

    async def main():
        return await asynchronous("stream")(cuda), await asynchronous("stream")(rocm)

    assert asyncio.run(main()) == (0x1234, 0x5678)
    other = []
    t = threading.Thread(target=lambda: other.append(m.stream(cuda)))
    t.start()
    t.join()
    assert other == [0], other
    assert set_stream(2, 0, None, None) == 0 and set_stream(10, 3, None, None) == 0
    for _ in range(200):  # no thread kept it
        assert m.stream(cuda) == 0 and m.stream(rocm) == 0
    with tvm_ffi.use_raw_stream(cuda, 0x42):
        assert m.stream(cuda) == 0x42
    assert m.stream(cuda) == 0


def allocator():
    e = failure(m.allocated, 3)
    assert "allocator is nullptr" in str(e), e
    tensors = tvm_ffi.load_module(sys.argv[4])
    tvm_ffi.get_global_func("tensors.set_allocator")(True, False)
    for _ in range(10):
        assert m.allocated(3).shape == (3,)
    assert asyncio.run(awaited(m.get_function("_async")("allocated"), 4)).shape == (4,)
    tvm_ffi.get_global_func("tensors.set_allocator")(False, False)
    for _ in range(10):
        e = failure(m.allocated, 3)
        assert "allocator is nullptr" in str(e), e


remedy = "the process was forked after libwaits was loaded"


def refused(f, *args):
    e = failure(f, *args)
    assert type(e) is RuntimeError and remedy in str(e) and "spawn" in str(e), e


def in_child(f):
    pid = os.fork()
    if pid == 0:
        try:
            f()
            sys.stdout.flush()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    assert status == 0, status


def forked():
    """Each way to call Go in a fork is an error."""
    s, made, f, start = m.made(3), m.made(4), m.function(), m.get_function("_async")("wait")
    apply = tvm_ffi.get_global_func("waits.apply")
    index = type(s).__tvm_ffi_type_info__.type_index

    def child():
        nonlocal s, f, made
        refused(m.plain)
        refused(m.quick)
        refused(m.wait, 1, "x")
        refused(m.made, 1)
        refused(f)
        refused(s.get)
        refused(s.wait, 1)
        refused(start, lambda r, e: None, 1, "x")
        refused(apply, lambda x: x, 1)
        refused(tvm_ffi.load_module(sys.argv[2]).plain)
        assert s.n == 3
        s.n = 5
        assert s.n == 5
        again = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")(index, "n", 6)
        assert again.n == 6
        t = threading.Thread(target=lambda: refused(m.plain))
        t.start()
        t.join()
        s = f = made = None  # destructors
        gc.collect()

    for _ in range(3):
        in_child(child)
    assert s.get() == 3 and f() == 42 and m.wait(1, "x") == "x"
    # While goroutines work.
    calls = [start(lambda r, e: None, 60000, "x") for _ in range(50)]
    in_child(child)
    [stop() for stop in calls]
    # A fork that ends like any process.
    pid = os.fork()
    if pid == 0:
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def work(n):
    e = failure(m.plain)
    return remedy in str(e) and n + 1


def forked_pool():
    m.quick()
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(work, range(10)) == list(range(1, 11))
    p = context.Process(target=sys.exit, args=(5,))
    p.start()
    p.join()
    assert p.exitcode == 5, p.exitcode


def exec_():
    pid = os.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import sys; sys.exit(3)"])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    code = "import tvm_ffi, sys; sys.exit(4 if tvm_ffi.load_module(sys.argv[1]).wait(1, 'x') == 'x' else 1)"
    assert subprocess.run([sys.executable, "-c", code, sys.argv[2]]).returncode == 4
    assert subprocess.run([sys.executable, "-c", code, sys.argv[2]], preexec_fn=lambda: None).returncode == 4
    assert os.system(f"{sys.executable} -c 'import sys; sys.exit(2)'") >> 8 == 2
    assert m.wait(1, "x") == "x"  # none of them was a fork for this process


def loads_after(path):
    m = tvm_ffi.load_module(path)
    calls = [threading.Thread(target=m.wait, args=(10, "x")) for _ in range(4)]
    [t.start() for t in calls]
    [t.join() for t in calls]
    return m.wait(1, "x"), asyncio.run(once(m))


async def once(m):
    return await awaited(m.get_function("_async")("wait"), 1, "y")


def fork_first():
    """A fork before the library is loaded has no limits."""

    def child():
        assert loads_after(sys.argv[2]) == ("x", "y")

    in_child(child)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(loads_after, [sys.argv[2]] * 4) == [("x", "y")] * 4


def native_thread():
    """Threads of C++ without the lock of the interpreter call Go, which calls Python."""
    got = []
    host.on_threads(m.apply, lambda x: got.append(x), 20)
    assert sorted(got) == list(range(20)), got


def native_thread_ends():
    """The same when the interpreter ends meanwhile."""
    host.on_detached_threads(m.apply, lambda x: x, 8)
    time.sleep(0.05)


def futures():
    """The asynchronous form for C++."""
    host.futures(m.get_function("_async"))


if __name__ == "__main__":
    case = sys.argv[1]
    if case != "fork_first":
        m, host = tvm_ffi.load_module(sys.argv[2]), tvm_ffi.load_module(sys.argv[3])
    globals()[case]()
