package main

import (
	"strings"
	"sync"
)

// The items here and in containers.go need nothing but the helpers that cgo.go and purego.go both have.

func calls() {
	add := global("perf.add_one")
	item("int", func(n int) {
		for i := range n {
			intSink += number(must(call(add, integer(int64(i)))))
		}
	})
	leaf, nopObjects := must(call(global("perf.make_leaf"), integer(1))), global("perf.nop3_objects")
	item("objects3", func(n int) {
		for range n {
			must(call(nopObjects, leaf, leaf, leaf))
		}
	})
	echo := global("perf.echo")
	for name, s := range map[string]string{"string32": strings.Repeat("x", 32), "string5": "hello"} {
		item(name, func(n int) {
			for range n {
				a := newString(s)
				r := must(call(echo, a))
				stringSink = stringOf(r)
				release(r)
				release(a)
			}
		})
	}
	fail := global("perf.fail")
	message := strings.Repeat("x", 32)
	item("error", func(n int) {
		for range n {
			m := newString(message)
			if _, err := call(fail, m); err == nil {
				panic("no error")
			}
			release(m)
		}
	})
	item("threads2", func(n int) {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				for i := range n / 2 {
					must(call(add, integer(int64(i))))
				}
			})
		}
		both.Wait()
	})
}

// objects reads the fields of a perf.Node by get: value, weight, name, leaf, delta.
func objects(get func(i int) value) {
	item("field_int", func(n int) {
		for range n {
			intSink += number(get(0))
		}
	})
	item("field_getter", func(n int) {
		for range n {
			intSink += number(get(4))
		}
	})
	item("field_float", func(n int) {
		for range n {
			intSink += number(get(1))
		}
	})
	item("field_string", func(n int) {
		for range n {
			r := get(2)
			stringSink = stringOf(r)
			release(r)
		}
	})
	item("field_object", func(n int) {
		for range n {
			release(get(3))
		}
	})
	newLeaf := global("perf.make_leaf")
	item("create", func(n int) {
		for i := range n {
			release(must(call(newLeaf, integer(int64(i)))))
		}
	})
}

// callbacks calls fn, which adds one to an int.
func callbacks(fn value) {
	repeat, onThread := global("perf.repeat"), global("perf.repeat_on_thread")
	item("callback", func(n int) { must(call(repeat, fn, integer(int64(n)))) })
	item("callback_thread", func(n int) { must(call(onThread, fn, integer(int64(n)))) })
}
