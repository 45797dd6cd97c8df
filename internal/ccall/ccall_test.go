package ccall_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// frame is a call with the largest block.
type frame struct {
	head  ccall.Head
	block [2 * ccall.MaxBlock]uint64
}

// pack puts a raw string behind the arguments and returns the number of units.
func (f *frame) pack(n int, s string) {
	f.block[0], f.block[1] = uint64(abi.TypeRawStr), uint64(16*n)
	text := unsafe.Slice((*byte)(unsafe.Pointer(&f.block[2*n])), len(s)+1)
	copy(text, s)
	text[len(s)] = 0
	f.head.N, f.head.Mask, f.head.Units = uint16(n), 1<<1, uint8(n+(len(s)+16)/16)
}

func (f *frame) text() string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(&f.block)), f.head.Text-1))
}

var keep *frame

// Frames on the stack and on the heap give the same results, with texts that are
// copied into the block exactly if they fit.
func TestCall(t *testing.T) {
	echo, length := function(t, "calls.echo_string"), function(t, "calls.length")
	for _, heap := range []bool{false, true} {
		for n := 8; n <= 495; n++ {
			s := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 20)[:n]
			run := func(f *frame) {
				f.head.Fn, f.head.Handle = core.functionCall, length
				f.pack(1, s)
				ccall.Call(&f.head)
				if f.head.RC != 0 || f.head.Res != (abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(n)}) {
					t.Errorf("length of %d bytes: %+v", n, f.head)
				}
				for _, room := range []int{n - 1, n, n + 1} {
					*f = frame{head: ccall.Head{Fn: core.functionCall, Handle: echo, Text: uint16(room)}}
					f.pack(1, s)
					ccall.Call(&f.head)
					switch {
					case f.head.RC != 0 || f.head.Res.TypeIndex != abi.TypeStr:
						t.Errorf("echo of %d bytes: %+v", n, f.head)
					case room >= n && (f.head.Text != uint16(n)+1 || f.text() != s):
						t.Errorf("echo of %d bytes with room for %d: %+v", n, room, f.head)
					case room < n:
						if f.head.Text != 0 {
							t.Errorf("%d bytes do not fit %d", n, room)
						}
						if got := goString(*cell[abi.ByteArray](f.head.Res.Bits)); got != s {
							t.Errorf("%q", got)
						}
						drop(f.head.Res.Bits)
					}
				}
			}
			if heap {
				f := new(frame)
				keep = f
				run(f)
			} else {
				var f frame
				run(&f)
			}
		}
	}
}

func TestCallErrors(t *testing.T) {
	fail := function(t, "calls.add_one")
	for range 3 {
		var f frame
		f.head.Fn, f.head.Handle = core.functionCall, fail
		f.pack(1, "not an int")
		ccall.Call(&f.head)
		if f.head.RC != -1 || f.head.Res.Bits == 0 || f.head.Text != 0 {
			t.Fatalf("%+v", f.head)
		}
		if kind := goString(cell[abi.ErrorCell](f.head.Res.Bits).Kind); kind != "TypeError" {
			t.Errorf("kind %q", kind)
		}
		drop(f.head.Res.Bits)
	}
}

// The whole of the largest block arrives.
func TestLargestBlock(t *testing.T) {
	sum := function(t, "calls.sum")
	for _, n := range []int{1, 2, 31, 32, 33, 127, ccall.MaxBlock} {
		var f frame
		f.head = ccall.Head{Fn: core.functionCall, Handle: sum, N: uint16(n), Units: uint8(n)}
		for i := range n {
			f.block[2*i], f.block[2*i+1] = uint64(abi.TypeInt), uint64(i+1)
		}
		ccall.Call(&f.head)
		if want := uint64(n * (n + 1) / 2); f.head.RC != 0 || f.head.Res.Bits != want {
			t.Errorf("the sum of %d: %+v, want %d", n, f.head, want)
		}
	}
}
