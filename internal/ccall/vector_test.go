package ccall_test

import (
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// vector has room for three calls.
type vector struct {
	head    ccall.Vector
	records [2]ccall.Record
	args    [3]abi.Any
	results [3]abi.Any
}

var keptVector *vector // on the heap

// TestCallAll: the calls before one that fails are made, it and those behind it are not
// counted, and the next vector of the same memory begins without its error.
func TestCallAll(t *testing.T) {
	addOne := function(t, "calls.add_one")
	v := new(vector)
	keptVector = v
	integer := abi.Any{TypeIndex: abi.TypeInt, Bits: 41}
	v.head.Records = uintptr(unsafe.Pointer(&v.records))
	v.records[0] = ccall.Record{Fn: core.functionCall, Handle: addOne, Args: uintptr(unsafe.Pointer(&v.args)), N: 1, Calls: 2}
	v.records[1] = v.records[0]
	v.records[1].Args, v.records[1].Calls = uintptr(unsafe.Pointer(&v.args[2])), 1
	for _, bad := range []int{0, 1, 2, 3, 0, 3} { // 3: none
		v.args = [3]abi.Any{integer, integer, integer}
		v.results = [3]abi.Any{}
		if bad < 3 {
			v.args[bad] = abi.Any{}
		}
		v.head.SetResults(uintptr(unsafe.Pointer(&v.results)), 3)
		ccall.CallAll(&v.head)
		if left := uintptr(3 - bad); v.head.Left != left {
			t.Errorf("call %d is wrong: %d calls are left, want %d", bad, v.head.Left, left)
		}
		for i, r := range v.results[:bad] {
			if r != (abi.Any{TypeIndex: abi.TypeInt, Bits: 42}) {
				t.Errorf("call %d is wrong: result %d is %v", bad, i, r)
			}
		}
		if failed := bad < 3; (v.head.RC != 0) != failed || (v.head.Err != 0) != failed {
			t.Errorf("call %d is wrong: the return code is %d, the error at %#x", bad, v.head.RC, v.head.Err)
		}
		if v.head.Err != 0 {
			drop(uint64(v.head.Err))
		}
	}
}

var keptNodes *[3]ccall.Released // on the heap

// TestTakeReleased: each node comes once, and none is left.
func TestTakeReleased(t *testing.T) {
	load(t)
	keptNodes = new([3]ccall.Released)
	want := map[uintptr]bool{}
	for i := range keptNodes {
		node := unsafe.Pointer(&keptNodes[i])
		*(*abi.Object)(node) = abi.Object{RefCounts: 1<<32 | 1, TypeIndex: abi.TypeFunction, Deleter: ccall.ReleaseObject()}
		want[uintptr(node)] = true
		drop(uint64(uintptr(node)))
	}
	if !ccall.HasReleased() {
		t.Fatal("no nodes wait")
	}
	ccall.TakeReleased(func(node uintptr) {
		if !want[node] {
			t.Errorf("node %#x was not released, or came before", node)
		}
		delete(want, node)
	})
	if len(want) != 0 || ccall.HasReleased() {
		t.Errorf("%d nodes did not come, some wait: %t", len(want), ccall.HasReleased())
	}
	ccall.TakeReleased(func(node uintptr) { t.Errorf("node %#x came again", node) })
}
