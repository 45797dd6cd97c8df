package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
)

// row is one line of the table.
type row struct {
	name, title string
}

var items = []row{
	{"floor", "empty crossing"},
	{"int", "int -> int"},
	{"objects3", "3 objects in"},
	{"tensors3", "3 tensors in"},
	{"string32", "string of 32 bytes in and out"},
	{"string5", "string of 5 bytes in and out"},
	{"field_int", "int field"},
	{"field_getter", "int field by its getter"},
	{"field_float", "float field"},
	{"field_string", "string field"},
	{"field_object", "object field + release"},
	{"field_found", "int field by reflection, found once"},
	{"field_name", "int field by name"},
	{"walk", "walk of a graph of 1e6 objects"},
	{"graph_write", "JSON graph of 5e4 arrays, written"},
	{"opaque", "Go value wrapped + released"},
	{"define_make", "Go-defined object, made + released by C++"},
	{"define_set_int", "Go-defined object, int field set by C++"},
	{"define_set_object", "Go-defined object, object field set by C++"},
	{"define_copy", "two Go-defined objects, deep copied by C++"},
	{"exported", "int, int -> int in a Go library, from Python"},
	{"create", "object returned + release"},
	{"error", "error, kind and message"},
	{"callback", "callback, per call"},
	{"callback_thread", "callback on a C++ thread, per call"},
	{"callback_make", "callback made + freed"},
	{"ints_build", "array of 1e6 ints, build"},
	{"ints_read", "array of 1e6 ints, read"},
	{"ints_range", "array of 1e6 ints, ranged over"},
	{"ints_slice", "array of 1e6 ints, to a new slice"},
	{"strings_build", "array of 1000 strings, build"},
	{"strings_read", "array of 1000 strings, read"},
	{"map_build", "map of 1000 str -> int, build"},
	{"map_lookup", "map lookup"},
	{"map_iterate", "map iterate (1000)"},
	{"wrap", "wrap host memory + release"},
	{"env_tensor", "tensor from the environment + release"},
	{"cleanup", "cleanup of a Go object, added + stopped"},
	{"threads2", "int -> int on 2 threads, per call"},
}

func itemOf(name string) (row, bool) {
	i := slices.IndexFunc(items, func(r row) bool { return r.name == name })
	if i < 0 {
		return row{}, false
	}
	return items[i], true
}

// hosts are the rows in which a peer calls ours: its items that end in ".go", next to
// the same in C++.
var hosts = map[string]string{"exported": "python"}

// twoCores are the rows that need a second core to themselves.
var twoCores = []string{"threads2"}

// measurable leaves out the rows that the machine cannot measure under its present load,
// and returns the reason. Only Linux reports the load; elsewhere nothing is left out.
func measurable(rows []row) (left []row, reason string) {
	var load float64
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Sscan(string(text), &load)
	}
	return withLoad(rows, load, runtime.NumCPU())
}

func withLoad(rows []row, load float64, cores int) (left []row, reason string) {
	if load <= float64(cores-1) {
		return rows, ""
	}
	for _, r := range rows {
		if slices.Contains(twoCores, r.name) {
			reason = fmt.Sprintf("%s is skipped: with a load of %.2f, %d cores leave no second one free.", r.title, load, cores)
		} else {
			left = append(left, r)
		}
	}
	return left, reason
}

// goal is a target of the project: ours takes at most most times as long as an
// item of a peer, with which it alternates.
type goal struct {
	item, peer, peerItem string
	most                 float64
}

var goals = []goal{
	{"int", "purego", "floor", 1.45},
	{"int", "cgo", "int.expert", 0.95},
	{"int", "python", "int", 0.35},
	{"objects3", "purego", "floor", 1.9},
	{"tensors3", "purego", "floor", 1.9},
	{"string32", "cpp", "string32", 2},
	{"string32", "cgo", "string32.expert", 0.85},
	{"field_int", "cpp", "field_int.c", 1},
	{"field_found", "ours", "field_int", 3},
	{"field_name", "python", "field_name", 1},
	{"walk", "python", "walk", 1.0 / 3},
	{"graph_write", "python", "graph_write", 1.0 / 3},
	{"opaque", "purego", "floor", 5},
	{"define_make", "cpp", "define_make", 1.1},
	{"define_set_int", "cpp", "define_set_int", 1.1},
	{"define_set_object", "cpp", "define_set_object", 1.2},
	{"define_copy", "cpp", "define_copy", 1.2},
	{"exported", "python", "exported", 1.7},
	{"create", "cgo", "create.expert", 1.15},
	{"error", "cgo", "error.expert", 1},
	{"callback", "purego", "floor", 1.7},
	{"callback_thread", "purego", "floor", 2.5},
	{"ints_build", "cpp", "ints_build", 0.7},
	{"ints_read", "cpp", "ints_read", 1.1},
	{"strings_build", "cpp", "strings_build", 1.2},
	{"strings_read", "cpp", "strings_read", 0.8},
	{"map_build", "cpp", "map_build", 1.1},
	{"map_lookup", "cpp", "map_lookup", 1.8},
	{"map_iterate", "cpp", "map_iterate", 1.5},
	{"wrap", "cpp", "wrap", 3.2},
	{"env_tensor", "cpp", "env_tensor", 2.1},
	{"threads2", "ours", "int", 1 / 1.8},
}

// rivals are the peers that ours is ahead of in every item.
var rivals = []string{"cgo", "purego", "python"}

// allocations are the most that an operation of ours may make.
var allocations = map[string]float64{
	"int": 0, "objects3": 0, "tensors3": 0, "string32": 1, "string5": 1,
	"field_int": 0, "field_getter": 0, "field_float": 0, "field_found": 0, "field_name": 0, "opaque": 1, "create": 1, "callback": 0, "callback_make": 2,
}
