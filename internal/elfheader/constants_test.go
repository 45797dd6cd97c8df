package elfheader_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// TestConstants reads a library whose constants have a segment of their own, and the same one as older linkers make it.
func TestConstants(t *testing.T) {
	data, err := os.ReadFile(library(t, "linux", "amd64"))
	if err != nil {
		t.Fatal(err)
	}
	parts := func() (has bool, size uint64) {
		h, err := elfheader.Read(bytes.NewReader(data), uint64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range h.Constants {
			size += p.Size
			has = has || bytes.Contains(data[p.Offset:p.Offset+p.Size], []byte("ffi.Module.load_from_file.so\x00"))
		}
		return has, size
	}
	has, separate := parts()
	if !has || separate > uint64(len(data))/2 {
		t.Errorf("%d bytes of %d may be constants; one that is there is among them: %v", separate, len(data), has)
	}
	const load, readable, executable = 1, 4, 1
	table := data[binary.LittleEndian.Uint64(data[32:]):]
	for range binary.LittleEndian.Uint16(data[56:]) {
		if binary.LittleEndian.Uint32(table) == load && binary.LittleEndian.Uint32(table[4:]) == readable {
			binary.LittleEndian.PutUint32(table[4:], readable|executable)
		}
		table = table[56:]
	}
	if has, all := parts(); !has || all < 2*separate {
		t.Errorf("without a segment of constants, %d bytes may be some, %d before: %v", all, separate, has)
	}
}
