"""The Python peer: the public API of tvm_ffi. It speaks the protocol of ours/harness.go."""

import ctypes
import operator
import sys
import threading

import numpy as np
import tvm_ffi
from harness import item, items, repeated, serve
from tvm_ffi import serialization, structural

ctypes.CDLL(sys.argv[-1], ctypes.RTLD_GLOBAL)
G = tvm_ffi.get_global_func

add, nop_objects, nop_tensors, echo = G("perf.add_one"), G("perf.nop3_objects"), G("perf.nop3_tensors"), G("perf.echo")
make_leaf, make_node = G("perf.make_leaf"), G("perf.make_node")


@tvm_ffi.register_object("perf.Leaf")
class Leaf(tvm_ffi.Object):
    pass


@tvm_ffi.register_object("perf.Node")
class Node(tvm_ffi.Object):
    pass


def int_call(n):
    for i in range(n):
        add(i)


items["int"] = int_call
leaf = make_leaf(1)
t1, t2, t3 = (tvm_ffi.from_dlpack(np.zeros((4, 4), dtype="float32")) for _ in range(3))


@item
def objects3(n):
    for _ in range(n):
        nop_objects(leaf, leaf, leaf)


@item
def tensors3(n):
    for _ in range(n):
        nop_tensors(t1, t2, t3)


s32 = "x" * 32


@item
def string32(n):
    for _ in range(n):
        echo(s32)


@item
def string5(n):
    for _ in range(n):
        echo("hello")


node = make_node(7)


@item
def field_int(n):
    for _ in range(n):
        node.value


@item
def field_getter(n):
    for _ in range(n):
        node.delta


@item
def field_float(n):
    for _ in range(n):
        node.weight


@item
def field_string(n):
    for _ in range(n):
        node.name


@item
def field_object(n):
    for _ in range(n):
        node.leaf


field_found = operator.attrgetter("value")
repeated("field_found", lambda: field_found(node))


@item
def field_name(n):
    for _ in range(n):
        getattr(node, "value")


graph = tvm_ffi.Array([make_node(i) for i in range(500000)])
count = 0


def step(_):
    global count
    count += 1


repeated("walk", lambda: structural.structural_walk(graph, step, order="pre"))
nested = tvm_ffi.Array([tvm_ffi.Array([i]) for i in range(50000)])
repeated("graph_write", lambda: serialization.to_json_graph_str(nested))


@item
def create(n):
    for i in range(n):
        make_leaf(i)


fail, repeat, repeat_on_thread = G("perf.fail"), G("perf.repeat"), G("perf.repeat_on_thread")


@item
def error(n):
    for _ in range(n):
        try:
            fail(s32)
        except ValueError as e:
            str(e)


one_more = tvm_ffi.convert(lambda x: x + 1)


@item
def callback(n):
    repeat(one_more, n)


@item
def callback_thread(n):
    repeat_on_thread(one_more, n)


@item
def callback_make(n):
    for i in range(n):
        tvm_ffi.convert(lambda x: x + i)


ints = list(range(1000000))
array = tvm_ffi.Array(ints)
repeated("ints_build", lambda: tvm_ffi.Array(ints))
repeated("ints_read", lambda: list(array))
repeated("ints_slice", lambda: list(array))
texts = ["string number %d" % i for i in range(1000)]
strings = tvm_ffi.Array(texts)
repeated("strings_build", lambda: tvm_ffi.Array(texts))
repeated("strings_read", lambda: [str(x) for x in strings])
pairs = {s: i for i, s in enumerate(texts)}
table = tvm_ffi.Map(pairs)
repeated("map_build", lambda: tvm_ffi.Map(pairs))


@item
def map_lookup(n):
    for i in range(n):
        table[texts[i % 1000]]


repeated("map_iterate", lambda: [(k, v) for k, v in table.items()])
host = np.zeros(1024, dtype="float32")


@item
def wrap(n):
    for _ in range(n):
        tvm_ffi.from_dlpack(host)


@item
def threads2(n):
    threads = [threading.Thread(target=int_call, args=(n // 2,)) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def exported(name, path):
    def f(n):
        module = tvm_ffi.load_module(path)
        add = module.add
        for _ in range(n):
            add(1, 2)

    items[name] = f


exported("exported", sys.argv[-1])  # the same function, written in C++
exported("exported.go", sys.argv[1])
serve()
