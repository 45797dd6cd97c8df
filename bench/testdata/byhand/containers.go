package main

import "fmt"

func containers() {
	newArray, getItem := global("ffi.Array"), global("ffi.ArrayGetItem")
	ints := make([]int64, 1000000)
	buildInts := func() value {
		a := make([]value, len(ints))
		for i, x := range ints {
			a[i] = integer(x)
		}
		return must(call(newArray, a...))
	}
	item("ints_build", func(n int) {
		for range n {
			release(buildInts())
		}
	})
	array := buildInts()
	item("ints_read", func(n int) {
		for range n {
			for i := range ints {
				ints[i] = number(must(call(getItem, array, integer(int64(i)))))
			}
		}
	})
	var texts []string
	for i := range 1000 {
		texts = append(texts, fmt.Sprintf("string number %d", i))
	}
	buildStrings := func() value {
		a := make([]value, len(texts))
		for i, s := range texts {
			a[i] = newString(s)
		}
		r := must(call(newArray, a...))
		for _, x := range a {
			release(x)
		}
		return r
	}
	item("strings_build", func(n int) {
		for range n {
			release(buildStrings())
		}
	})
	stringArray := buildStrings()
	item("strings_read", func(n int) {
		for range n {
			o := make([]string, len(texts))
			for i := range o {
				r := must(call(getItem, stringArray, integer(int64(i))))
				o[i] = stringOf(r)
				release(r)
			}
		}
	})
	newMap, mapGet, mapIterate := global("ffi.Map"), global("ffi.MapGetItem"), global("ffi.MapForwardIterFunctor")
	buildMap := func() value {
		a := make([]value, 2*len(texts))
		for i, s := range texts {
			a[2*i], a[2*i+1] = newString(s), integer(int64(i))
		}
		r := must(call(newMap, a...))
		for _, x := range a {
			release(x)
		}
		return r
	}
	item("map_build", func(n int) {
		for range n {
			release(buildMap())
		}
	})
	table := buildMap()
	item("map_lookup", func(n int) {
		for i := range n {
			k := newString(texts[i%1000])
			intSink += number(must(call(mapGet, table, k)))
			release(k)
		}
	})
	item("map_iterate", func(n int) {
		type pair struct {
			key   string
			value int64
		}
		for range n {
			it := must(call(mapIterate, table))
			o := make([]pair, 0, 1000)
			for {
				k := must(call(handle(it), integer(0)))
				v := must(call(handle(it), integer(1)))
				o = append(o, pair{stringOf(k), number(v)})
				release(k)
				if number(must(call(handle(it), integer(2)))) == 0 {
					break
				}
			}
			release(it)
		}
	})
}
