package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// entry is a kernel in an image, with the bytes of its parameters.
type entry struct {
	name  string
	sizes []int
	// known says that sizes could be read.
	known bool
}

// namesOf returns each name once.
func namesOf(entries []entry) []string {
	var names []string
	for _, e := range entries {
		if !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	}
	return names
}

// entriesOf lists the kernels of an image, if it can be read. A fatbin may have one name
// several times.
func entriesOf(file string, data []byte) (entries []entry, ok bool) {
	switch path.Ext(file) {
	case ".ptx":
		return ptxEntries(data)
	case ".cubin":
		return cubinEntries(data)
	case ".fatbin":
		return fatbinEntries(data)
	}
	return nil, false
}

// ptxEntries reads the kernels in PTX.
func ptxEntries(data []byte) (entries []entry, ok bool) {
	text := withoutComments(data)
	for _, at := range ptxEntry.FindAllSubmatchIndex(text, -1) {
		e := entry{name: string(text[at[2]:at[3]])}
		e.sizes, e.known = ptxSizes(string(text[at[1]:]))
		entries = append(entries, e)
	}
	return entries, len(data) > 0
}

var (
	ptxEntry = regexp.MustCompile(`\.entry\s+([A-Za-z_$%][\w$]*)`)
	// A parameter, such as ".param .u64 .ptr .align 4 x" or ".param .align 4 .b8 s[12]".
	ptxParam = regexp.MustCompile(`^\.param\s(?:.*\s)?\.(?:[bsuf](\d+)|bf16)(x2)?\s(?:.*\s)?[A-Za-z_$%][\w$]*((?:\s*\[\s*\d+\s*\])*)$`)
	ptxIndex = regexp.MustCompile(`\d+`)
)

// ptxSizes reads the parameters that stand at the beginning of a text, behind the name of a kernel.
func ptxSizes(text string) (sizes []int, ok bool) {
	rest, open := strings.CutPrefix(strings.TrimSpace(text), "(")
	list, _, closed := strings.Cut(rest, ")")
	list = strings.TrimSpace(list)
	switch {
	case !open:
		return nil, true // a kernel without a list has no parameters
	case !closed:
		return nil, false
	case list == "":
		return nil, true
	}
	for _, param := range strings.Split(list, ",") {
		m := ptxParam.FindStringSubmatch(strings.Join(strings.Fields(param), " "))
		if m == nil {
			return nil, false
		}
		bits := 16
		if m[1] != "" {
			bits, _ = strconv.Atoi(m[1])
		}
		size := bits / 8
		if m[2] != "" {
			size *= 2
		}
		for _, n := range ptxIndex.FindAllString(m[3], -1) {
			count, err := strconv.Atoi(n)
			if err != nil || count > mostParameters || size*count > mostParameters {
				return nil, false
			}
			size *= count
		}
		sizes = append(sizes, size)
	}
	return sizes, true
}

// mostParameters is more than the bytes that a kernel takes.
const mostParameters = 1 << 16

// cubinEntries reads the names of the sections: a kernel has one for its parameters, and one with
// what is known of them. Every offset is checked, because the file is foreign.
func cubinEntries(data []byte) (entries []entry, ok bool) {
	const (
		machine       = 190 // EM_CUDA
		header        = 64
		sectionHeader = 64
		parameters    = ".nv.constant0."
		about         = ".nv.info."
	)
	le := binary.LittleEndian
	if len(data) < header || string(data[:6]) != "\x7fELF\x02\x01" || le.Uint16(data[18:]) != machine {
		return nil, false
	}
	table, size := le.Uint64(data[40:]), uint64(len(data))
	n, text := uint64(le.Uint16(data[60:])), uint64(le.Uint16(data[62:]))
	if le.Uint16(data[58:]) != sectionHeader || table > size || n > (size-table)/sectionHeader || text >= n {
		return nil, false
	}
	section := func(i uint64) []byte { return data[table+i*sectionHeader:] }
	content := func(i uint64) []byte {
		from, length := le.Uint64(section(i)[24:]), le.Uint64(section(i)[32:])
		if from > size || length > size-from {
			return nil
		}
		return data[from : from+length]
	}
	strs, records := content(text), map[string][]byte{}
	for i := range n {
		at := uint64(le.Uint32(section(i)))
		if at >= uint64(len(strs)) {
			return nil, false
		}
		name, _, ended := bytes.Cut(strs[at:], []byte{0})
		if !ended {
			return nil, false
		}
		if kernel, found := strings.CutPrefix(string(name), parameters); found {
			entries = append(entries, entry{name: kernel})
		}
		if kernel, found := strings.CutPrefix(string(name), about); found {
			records[kernel] = content(i)
		}
	}
	for i := range entries {
		e := &entries[i]
		e.sizes, e.known = cubinSizes(records[e.name])
	}
	return entries, true
}

// cubinSizes reads the section about a kernel. It has a list of records:
//
//	0 form, 1 what it says, 2 a number; in the form 4 that is the size of what follows
//
// Two of them count here: one has the bytes of all parameters, and each parameter has one, with
//
//	4 its index, 6 its offset, 8 flags, of which those from bit 18 on are its size
//
// The sizes count as known only if both agree.
func cubinSizes(data []byte) (sizes []int, ok bool) {
	const (
		plain, sized   = 3, 4
		total, one     = 0x19, 0x17
		header, length = 4, 12
	)
	le := binary.LittleEndian
	if len(data) == 0 {
		return nil, false
	}
	all, end, bytesOf := 0, 0, map[int]int{}
	for len(data) >= header {
		form, what, number := data[0], data[1], int(le.Uint16(data[2:]))
		data = data[header:]
		if form == plain && what == total {
			all = number
		}
		if form != sized {
			continue
		}
		if number > len(data) {
			return nil, false
		}
		if what == one && number == length {
			size := int(le.Uint32(data[8:]) >> 18)
			bytesOf[int(le.Uint16(data[4:]))] = size
			end = max(end, int(le.Uint16(data[6:]))+size)
		}
		data = data[number:]
	}
	for i := range len(bytesOf) {
		size, found := bytesOf[i]
		if !found {
			return nil, false
		}
		sizes = append(sizes, size)
	}
	return sizes, len(data) == 0 && all == end
}

// parameters compares args with the parameters of the kernel in each image that tells them.
// kernelrt does the same at the first launch, with drivers from CUDA 12.4 on.
func (k *Kernel) parameters(contents map[string][]byte) {
	key := "args"
	if k.Source.Args == nil {
		key = "spec"
	}
	for _, file := range k.Images {
		entries, _ := entriesOf(file, contents[file])
		for _, e := range entries {
			if e.name != k.Entry || !e.known {
				continue
			}
			if item, problem := k.unlike(e.sizes); problem != "" {
				if key == "spec" {
					item = -1
				}
				k.fail(key, item, "the kernel %s in %s: %s", k.Entry, file, problem)
				break // one image of a fatbin is enough
			}
		}
	}
}

// unlike says in what the arguments are not the parameters of these sizes, "" if in nothing.
// item is the argument, -1 for all of them.
func (k *Kernel) unlike(sizes []int) (item int, problem string) {
	var have []int
	for _, a := range k.Args {
		have = append(have, a.Size)
	}
	if len(have) != len(sizes) {
		return -1, fmt.Sprintf("it has %s, found %d of %v (%s): pass one for each parameter, in their order",
			counted(sizes), len(have), have, strings.Join(k.passed, ", "))
	}
	for i, size := range sizes {
		if have[i] != size {
			return i, fmt.Sprintf("its parameter %d has %d bytes, found %s with %d: correct the order in args, or a type in spec", i, size, k.passed[i], have[i])
		}
	}
	return -1, ""
}

// counted says how many parameters there are, and their bytes.
func counted(sizes []int) string {
	switch len(sizes) {
	case 0:
		return "no parameters"
	case 1:
		return fmt.Sprintf("1 parameter of %v bytes", sizes)
	}
	return fmt.Sprintf("%d parameters of %v bytes", len(sizes), sizes)
}
