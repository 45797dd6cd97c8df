package xgrammar

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The functions of this file look for equal schemas that XGrammar follows. What makes them is in offer_merge.go and offer_rules.go.

// The limits of Instead: how often it asks again, as what an offer brings to light may have one, too, and how long a text may become.
const (
	mostRounds = 32
	mostText   = 1 << 20
)

// Instead returns the schema with all offers of [JSONSchema.Check] taken, and the differences that remain. The same documents
// follow both schemas.
func (s JSONSchema) Instead() (JSONSchema, []Difference, error) {
	for round := 0; ; round++ {
		all, err := s.Check()
		if err != nil {
			return s, nil, err
		}
		offers := map[string]string{}
		for _, d := range all {
			if d.Instead != "" && round < mostRounds && len(s.Text) < mostText {
				offers[d.Place] = d.Instead
			}
		}
		if len(offers) == 0 {
			return s, all, nil
		}
		d := json.NewDecoder(strings.NewReader(s.Text))
		d.UseNumber()
		var root any
		if err := d.Decode(&root); err != nil {
			return s, nil, failed(item(s), err)
		}
		order := orders{}
		order.read(s.Text, root)
		taken := map[string]bool{}
		outerFirst := func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }
		for _, at := range slices.SortedFunc(maps.Keys(offers), outerFirst) {
			if inOneOf(taken, at) {
				continue
			}
			var v any
			d := json.NewDecoder(strings.NewReader(offers[at]))
			d.UseNumber()
			if err := d.Decode(&v); err != nil {
				return s, nil, failed(item(s), err)
			}
			order.read(offers[at], v)
			root, taken[at] = order.replaced(root, at, v), true
		}
		s.Text = order.text(root)
	}
}

// inOneOf reports whether a JSON pointer leads into one of several places.
func inOneOf(places map[string]bool, at string) bool {
	for at != "" {
		if at = at[:strings.LastIndexByte(at, '/')]; places[at] {
			return true
		}
	}
	return false
}

// equals makes equal schemas. Its steps are those of the checker in it.
type equals struct {
	*checker
	order     orders
	at        string   // the place of the offer
	refs      []string // all references of the root
	evaluates bool     // it has unevaluatedProperties or unevaluatedItems, which look at what other parts say
	anchored  bool     // it has names for places besides JSON pointers
}

// look learns what the root has.
func (e *equals) look(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			switch name {
			case "$ref":
				if ref, ok := inner.(string); ok && !slices.Contains(e.refs, ref) && e.spend(len(e.refs)) {
					e.refs = append(e.refs, ref)
				}
			case "unevaluatedProperties", "unevaluatedItems":
				e.evaluates = true
			case "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "id":
				if _, property := inner.(map[string]any); property { // of which this is the name
					break
				}
				root, _ := e.root.(map[string]any)
				e.anchored = e.anchored || name != "$id" || reflect.ValueOf(root).Pointer() != reflect.ValueOf(v).Pointer()
			}
			if e.spend(1) {
				e.look(inner)
			}
		}
	case []any:
		for _, inner := range v {
			if e.spend(1) {
				e.look(inner)
			}
		}
	}
}

// offers gives the differences the offers that there are.
func (c *checker) offers(text string) {
	all := c.found
	if c.left < 0 || !slices.ContainsFunc(all, func(d Difference) bool { return d.Effect != Narrower }) {
		return
	}
	e := equals{checker: &checker{root: c.root, loose: c.loose, anyOrder: c.anyOrder, left: most}, order: orders{}}
	e.order.read(text, c.root)
	e.look(c.root)
	type offer struct {
		text   string
		remain map[string]bool
	}
	known := map[string]offer{}
	for i := range all {
		d := &all[i]
		if d.Effect == Narrower {
			continue
		}
		place := d.Pointer
		for {
			outer := place[:max(0, strings.LastIndexByte(place, '/'))]
			if c.seen[place] && !(strings.HasSuffix(place, "/propertyNames") && c.seen[outer]) { // which says something of its object
				break
			}
			place = outer
		}
		o, ok := known[place]
		if !ok {
			o.text, o.remain = e.offer(place)
			known[place] = o
		}
		if e.left < 0 {
			return
		}
		if o.text != "" && !o.remain[strings.TrimPrefix(d.Pointer, place)] {
			d.Place, d.Instead = place, o.text
		}
	}
}

// offer returns an equal schema for the one at a place, "" for none, and the differences that remain.
func (e *equals) offer(at string) (text string, remain map[string]bool) {
	e.at = at
	old, _ := lookup(e.root, at)
	s, ok := old.(map[string]any)
	if !ok {
		return "", nil
	}
	var v any
	switch {
	case e.left < 0:
	case e.anchored:
		v, ok = e.anchor(s)
	case e.evaluates:
		v, ok = e.asAdditional(s)
	default:
		v, ok = e.whole(s)
	}
	better, isObject := v.(map[string]any)
	if !ok || !isObject {
		return "", nil
	}
	before, root := e.here(at, s), e.root
	if len(e.refs) > 0 {
		if e.root = e.order.replaced(root, at, better); !e.sameTargets(at, root) {
			e.root = root
			return "", nil
		}
	}
	remain = e.here(at, better)
	e.root = root
	if !closer(remain, before) || e.left < 0 {
		return "", nil
	}
	text = e.order.text(better)
	if !e.spend(len(text)) {
		return "", nil
	}
	return text, remain
}

// Keywords of the place of a schema, which stay there.
var ofPlace = []string{"$schema", "$id", "$defs", "definitions"}

// whole returns an equal schema for one, with what stands in its place only.
func (e *equals) whole(s map[string]any) (any, bool) {
	inner, kept := e.order.clone(s), map[string]any{}
	for name := range s {
		if slices.Contains(ofPlace, name) || annotates(name) {
			kept[name] = s[name]
			delete(inner, name)
		}
	}
	v, ok := any(inner), true
	order := e.order.names(s)
	if slices.ContainsFunc(leading, func(lead string) bool { return inner[lead] != nil }) && len(inner) > 1 || inner["allOf"] != nil || inner["oneOf"] != nil {
		order = slices.DeleteFunc(slices.Clone(order), func(name string) bool { return name == "$defs" || name == "definitions" }) // which come last
		var g gathered
		if ok = e.gather(inner, 0, &g); ok {
			v, ok = e.combine(g, 0)
		}
	} else {
		v, ok = e.polish(inner)
	}
	out, isObject := v.(map[string]any)
	if !ok || !isObject {
		return nil, false
	}
	out = e.order.clone(out)
	for name, v := range kept {
		out[name] = v
	}
	e.order.set(out, slices.Concat(order, e.order.names(out)))
	return out, true
}

// here returns where the text that a schema describes may be wrong, with pointers from the schema on: not in its members.
func (e *equals) here(at string, v any) map[string]bool {
	c := checker{root: e.root, loose: e.loose, anyOrder: e.anyOrder, seen: map[string]bool{}, left: e.left}
	c.schema(at, v)
	e.left = c.left
	all := map[string]bool{}
	for _, d := range c.found {
		if rest, ok := strings.CutPrefix(d.Pointer, at); ok && d.Effect != Narrower && (rest == "" || rest[0] == '/') && inPlace(rest) {
			all[rest] = true
		}
	}
	return all
}

// inPlace reports whether a pointer in a schema names what it says of a document, rather than of the members of one.
func inPlace(pointer string) bool {
	parts := strings.Split(pointer, "/")[1:]
	for len(parts) > 2 && slices.Contains([]string{"anyOf", "oneOf", "allOf"}, parts[0]) {
		parts = parts[2:]
	}
	return len(parts) < 2 || parts[0] == "required" || parts[0] == "propertyNames" || parts[0] == "patternProperties" && len(parts) == 2
}

// closer reports whether fewer differences are there, and no new one.
func closer(now, before map[string]bool) bool {
	for pointer := range now {
		if !before[pointer] {
			return false
		}
	}
	return len(now) < len(before)
}

// sameTargets reports whether all references name what they did, where the schema at a place of another root became an equal one.
func (e *equals) sameTargets(at string, was any) bool {
	from := checker{root: was}
	for _, ref := range e.refs {
		pointer, old, local := from.target(ref)
		_, now, _ := e.target(ref)
		if !e.spend(1+len(pointer)) || local && (now == nil || strings.HasPrefix(pointer, at+"/") && !reflect.DeepEqual(old, now)) {
			return false
		}
	}
	return e.spend(len(e.order.of(object(e.root))))
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// lookup returns what a JSON pointer names.
func lookup(v any, pointer string) (any, bool) {
	_, v, ok := (&checker{root: v}).target("#" + strings.ReplaceAll(pointer, "%", "%25"))
	return v, ok
}

// orders knows the keys of objects in their order. It has the objects themselves, so that no other one takes their address.
type orders map[uintptr]keys

type keys struct {
	of    map[string]any
	names []string
}

func (o orders) set(m map[string]any, names []string) {
	o[reflect.ValueOf(m).Pointer()] = keys{m, names}
}

// read learns the keys of a value from its text.
func (o orders) read(text string, v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	o.learn(d, v)
}

func (o orders) learn(d *json.Decoder, v any) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') && t != json.Delim('[') {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		var names []string
		for d.More() {
			t, _ := d.Token()
			name, _ := t.(string)
			names = append(names, name)
			o.learn(d, v[name])
		}
		o.set(v, names)
	case []any:
		for _, one := range v {
			o.learn(d, one)
		}
	}
	_, _ = d.Token()
}

// clone returns a copy of an object with the same order.
func (o orders) clone(m map[string]any) map[string]any {
	c := make(map[string]any, len(m))
	maps.Copy(c, m)
	o.set(c, slices.Clone(o.names(m)))
	return c
}

// names returns the keys that are known of an object. It may have lost some.
func (o orders) names(m map[string]any) []string { return o[reflect.ValueOf(m).Pointer()].names }

// first is the order of keywords that have no other.
var first = []string{"$schema", "$id", "title", "description", "type", "$ref", "const", "enum", "anyOf", "oneOf", "allOf", "properties", "required", "additionalProperties"}

// of returns the keys of an object: those that it knows first.
func (o orders) of(m map[string]any) []string {
	var names []string
	done := map[string]bool{}
	for _, name := range o.names(m) {
		if _, ok := m[name]; ok && !done[name] {
			names, done[name] = append(names, name), true
		}
	}
	var rest []string
	for name := range m {
		if !done[name] {
			rest = append(rest, name)
		}
	}
	rank := func(name string) int {
		i := slices.Index(first, name)
		switch {
		case strings.HasPrefix(name, "$def"):
			return len(first) + 1
		case i < 0:
			return len(first)
		}
		return i
	}
	slices.SortFunc(rest, func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) })
	if len(rest) > 0 && rest[0] == "type" {
		names, rest = append([]string{"type"}, names...), rest[1:]
	}
	return append(names, rest...)
}

// text returns the JSON of a value.
func (o orders) text(v any) string {
	var b bytes.Buffer
	o.write(&b, v)
	return b.String()
}

func (o orders) write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, name := range o.of(v) {
			if i > 0 {
				b.WriteString(", ")
			}
			o.write(b, name)
			b.WriteString(": ")
			o.write(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, one := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			o.write(b, one)
		}
		b.WriteByte(']')
	default:
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		_ = e.Encode(v) // it came from JSON
		b.Truncate(b.Len() - 1)
	}
}

// replaced returns a value with another one at a place. It changes nothing.
func (o orders) replaced(v any, at string, with any) any {
	if at == "" {
		return with
	}
	name, rest, _ := strings.Cut(at[1:], "/")
	if rest != "" || strings.HasSuffix(at, "/") {
		rest = at[1+len(name):]
	}
	name = named.Replace(name)
	switch v := v.(type) {
	case map[string]any:
		m := o.clone(v)
		m[name] = o.replaced(v[name], rest, with)
		return m
	case []any:
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(v) {
			return v
		}
		all := slices.Clone(v)
		all[i] = o.replaced(v[i], rest, with)
		return all
	}
	return v
}
