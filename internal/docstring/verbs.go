package docstring

import "strings"

// verbs are those with which docs of libraries begin.
var verbs = func() map[string]bool {
	set := map[string]bool{}
	for verb := range strings.FieldsSeq(`accept access add adjust align allocate allow analyze annotate append apply assert
		assign attach begin bind broadcast build calculate call carry cast change check clean clear clone close collect combine
		compare compile compose compute concatenate configure connect construct convert copy count create cut debug declare
		decode decorate define delete deserialize destroy detect determine dig disable dispatch display divide download draw dump
		emit enable encode end enter estimate evaluate execute exit expand export extract fill filter find finish fold follow
		force fork format free fuse gather generate get give grow handle hash hold ignore implement import increase indicate
		infer initialize inline insert inspect install instantiate interleave invoke iterate join keep launch legalize lift
		list load lock look lookup lower make map mark match measure merge modify move multiply mutate normalize obtain open optimize
		pack pad parse partition pass perform pop predicate prefetch prepare pretty print process profile propagate provide
		prune push put query raise read realize receive record reduce register release remap remove render reorder replace
		report represent request reset reshape resolve restore retrieve return reverse rewrite rollback rotate round run save
		scan scatter schedule search select send serialize set shift show shut simplify skip sort split start stop store
		substitute subtract suggest swap sync synchronize take tell terminate test trace track transform translate transpose
		traverse try undo unify union unload unpack unregister unroll update upload use validate vectorize verify visit wait
		walk wrap write zero`) {
		set[verb] = true
	}
	return set
}()

// ThirdPerson returns a sentence that begins with a verb, such as "Return the plant.", in the
// form that follows a name: "returns the plant.". It reports whether the sentence has such a
// verb.
func ThirdPerson(sentence string) (string, bool) {
	word, rest, _ := strings.Cut(sentence, " ")
	bare := strings.TrimSuffix(word, ".")
	lower := strings.ToLower(bare)
	if bare == "" || bare[1:] != lower[1:] || bare == lower {
		return "", false
	}
	for _, ending := range []struct{ third, infinitive string }{{"ies", "y"}, {"es", ""}, {"s", ""}} {
		if stem, ok := strings.CutSuffix(lower, ending.third); ok && verbs[stem+ending.infinitive] {
			return strings.TrimSpace(lower + word[len(bare):] + " " + rest), true
		}
	}
	if !verbs[lower] {
		return "", false
	}
	third := lower + "s"
	switch {
	case strings.HasSuffix(lower, "y") && !strings.ContainsAny(lower[len(lower)-2:len(lower)-1], "aeiou"):
		third = strings.TrimSuffix(lower, "y") + "ies"
	case strings.HasSuffix(lower, "s"), strings.HasSuffix(lower, "sh"), strings.HasSuffix(lower, "ch"),
		strings.HasSuffix(lower, "x"), strings.HasSuffix(lower, "z"), strings.HasSuffix(lower, "undo"):
		third = lower + "es"
	}
	return strings.TrimSpace(third + word[len(bare):] + " " + rest), true
}
