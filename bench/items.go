package main

import "slices"

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
	{"field_float", "float field"},
	{"field_string", "string field"},
	{"field_object", "object field + release"},
	{"create", "object returned + release"},
	{"error", "error, kind and message"},
	{"callback", "callback, per call"},
	{"callback_thread", "callback on a C++ thread, per call"},
	{"callback_make", "callback made + freed"},
	{"ints_build", "array of 1e6 ints, build"},
	{"ints_read", "array of 1e6 ints, read"},
	{"ints_slice", "array of 1e6 ints, to a new slice"},
	{"strings_build", "array of 1000 strings, build"},
	{"strings_read", "array of 1000 strings, read"},
	{"map_build", "map of 1000 str -> int, build"},
	{"map_lookup", "map lookup"},
	{"map_iterate", "map iterate (1000)"},
	{"wrap", "wrap host memory + release"},
	{"threads2", "int -> int on 2 threads, per call"},
}

func itemOf(name string) (row, bool) {
	i := slices.IndexFunc(items, func(r row) bool { return r.name == name })
	if i < 0 {
		return row{}, false
	}
	return items[i], true
}

// slack is how far beyond a target a noisy machine may be.
const slack = 1.2

// goal is a target of the project: the median of ours is at most most times that
// of the peer, which is an item of its own where the name differs.
type goal struct {
	item, peer, peerItem string
	most                 float64
}

var goals = []goal{
	{"int", "floor", "floor", 1.5},
	{"int", "python", "int", 0.35},
	{"objects3", "floor", "floor", 1.9},
	{"tensors3", "floor", "floor", 1.9},
	{"string32", "cpp", "string32", 2},
	{"field_int", "cpp", "field_int.c", 1},
}

// allocations are the most that an operation of ours may make.
var allocations = map[string]float64{
	"int": 0, "objects3": 0, "tensors3": 0, "string32": 1, "string5": 1, "field_int": 0, "field_float": 0,
}

// generatorTarget is the time of the generator, without its type check, in times
// of tvm-ffi-stubgen.
const generatorTarget = 2

// judged are the items that have a target, and what they are compared with.
func judged() []row {
	var rows []row
	for _, r := range items {
		if _, ok := allocations[r.name]; ok || r.name == "floor" || slices.ContainsFunc(goals, func(g goal) bool { return g.item == r.name }) {
			rows = append(rows, r)
		}
	}
	return rows
}
