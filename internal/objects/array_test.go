package objects_test

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// TestBlockClass: the blocks of a class are of one size, which wastes at most a quarter.
func TestBlockClass(t *testing.T) {
	sizes := map[int]uintptr{}
	last := -1
	for size := uintptr(64); size < 1<<40; size += size/97 + 1 {
		class, rounded := objects.BlockClass(size)
		if rounded < size || rounded > size+size/4 {
			t.Errorf("%d bytes become %d", size, rounded)
		}
		if want, ok := sizes[class]; ok && want != rounded {
			t.Errorf("class %d has blocks of %d and of %d bytes", class, want, rounded)
		}
		if class < last || class >= objects.BlockClasses && rounded <= 32<<20 || class < objects.BlockClasses && rounded > 32<<20 {
			t.Errorf("%d bytes are of class %d, after one of %d", size, class, last)
		}
		if again, same := objects.BlockClass(rounded); again != class || same != rounded {
			t.Errorf("%d bytes are of class %d with %d bytes, which are of class %d", size, class, rounded, again)
		}
		sizes[class], last = rounded, class
	}
}

// ints makes an array of n elements that are all x, and wraps it.
func ints(n int, x uint64) *objects.Object {
	handle, all := objects.NewArray(n)
	for i := range all {
		all[i] = abi.Any{TypeIndex: abi.TypeInt, Bits: x}
	}
	o := objects.Own(handle)
	o.SetScalars()
	return o
}

// TestSpareBlocks: the memory of an array serves the next one of its class, until the
// next collection.
func TestSpareBlocks(t *testing.T) {
	inPlace(t)
	for _, n := range []int{0, 3, 100, 1_000_000} {
		objects.GuardRecent()
		spareBlocksOf(t, n)
	}
	large := ints(3_000_000, 1) // 48 MB
	large.Release()
	if objects.SpareBlock(3_000_000) != 0 {
		t.Error("more than 32 MB wait for another array")
	}
	objects.GuardRecent() // as every collection does
	if left := objects.SpareBlocks(); left != 0 {
		t.Errorf("%d blocks outlive a collection", left)
	}
}

func spareBlocksOf(t *testing.T, n int) {
	defer objects.KeepSpareBlocks()()
	a, b := ints(n, 1), ints(n, 2)
	first := a.Handle()
	if first == b.Handle() {
		t.Fatal("two live arrays have one memory")
	}
	a.Release()
	if objects.SpareBlock(n) != first {
		t.Errorf("the memory of an array of %d is not kept", n)
	}
	b.Release() // while that of one of its class is
	again := ints(n, 3)
	if again.Handle() != first {
		t.Fatalf("the memory of an array of %d is not used again", n)
	}
	if objects.SpareBlock(n) != 0 {
		t.Error("memory in use waits for another array")
	}
	if cell := objects.ArrayCell(first); cell.Size != int64(n) || cell.Capacity < cell.Size {
		t.Errorf("an array of %d says that it has %d of %d", n, cell.Size, cell.Capacity)
	}
	objects.IncRef(first)
	again.Release()
	if objects.SpareBlock(n) != 0 {
		t.Error("memory in use waits for another array")
	}
	objects.DecRef(first) // which does not know that there are only scalars
	if objects.SpareBlock(n) != first {
		t.Errorf("the memory of an array of %d that was looked at is not kept", n)
	}
}

// TestSpareBlocksOfMany: no memory has two owners.
func TestSpareBlocksOfMany(t *testing.T) {
	inPlace(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				n, x := i%5*7, uint64(g<<32|i)
				a := ints(n, x)
				if i%100 == 0 {
					objects.GuardRecent()
				}
				cell := objects.ArrayCell(a.Handle())
				for k, v := range unsafe.Slice(capi.PointerTo[abi.Any](cell.Data), cell.Size) {
					if v.Bits != x {
						t.Errorf("element %d is %x, want %x", k, v.Bits, x)
						return
					}
				}
				if i%2 == 0 {
					other := a.Retain() // whose wrapper does not know that there are only scalars
					a.Release()
					a = other
				}
				a.Release()
			}
		})
	}
	wg.Wait()
}
