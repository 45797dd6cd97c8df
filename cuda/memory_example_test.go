package cuda_test

import (
	"log"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// Memory that grows in place: its address stays the same, and what it holds is not copied.
func ExampleDevice_Reserve() {
	const device, most = cuda.Device(0), 8 << 30 // bytes of addresses, which cost no memory
	addresses, err := device.Reserve(most)
	if err != nil {
		log.Fatal(err)
	}
	defer addresses.Close()
	used := int64(0)
	grow := func(bytes int64) (*cuda.Memory, error) {
		more, err := device.AllocPhysical(bytes)
		if err != nil {
			return nil, err
		}
		defer more.Close() // the mapping keeps the memory
		if err := addresses.Map(used, more); err != nil {
			return nil, err
		}
		used += more.Size()
		return addresses.Memory(0, used)
	}
	for range 3 {
		memory, err := grow(64 << 20)
		if err != nil {
			log.Fatal(err)
		}
		log.Printf("%d bytes at %v", memory.Size(), memory.Pointer())
	}
}

// The columns 8 to 23 of a matrix with rows of 100 bytes, copied to a matrix of their own.
func ExampleCopyBox() {
	const device = cuda.Device(0)
	matrix, err := device.Alloc(50 * 100)
	if err != nil {
		log.Fatal(err)
	}
	defer matrix.Free()
	columns, err := cuda.AllocHost[byte](device, 50*16)
	if err != nil {
		log.Fatal(err)
	}
	defer columns.Free()
	from := cuda.Region{Memory: matrix, Offset: 8, Pitch: 100}
	to := cuda.Region{Memory: columns} // rows without a gap
	if err := cuda.CopyBox(to, from, cuda.Extent{Width: 16, Height: 50}, nil); err != nil {
		log.Fatal(err)
	}
	if err := device.Synchronize(); err != nil {
		log.Fatal(err)
	}
}
