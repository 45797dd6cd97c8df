package face

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

func TestEnum_Flags(t *testing.T) {
	for text, want := range map[string]bool{
		"1 2 4": true, "0 1 2 4": true, "1 2 4 7": true, "8 4 2 1 1": true, "1 2 3 4 7": true,
		"": false, "0": false, "1": false, "0 1": false, "1 2": false, "1 2 3": false, "0 1 2 3 4": false, "1 2 3 4": false,
		"1 4": false, "2 4 8": false, "1 2 4 16": false, "1 2 4 9": false, "-1 1 2 4": false, "10 20 30": false,
	} {
		e := &Enum{Kind: crossing.KindInt}
		for _, v := range strings.Fields(text) {
			e.Members = append(e.Members, Member{Value: Value{Kind: crossing.KindInt, Text: v}})
		}
		if got := e.Flags(); got != want {
			t.Errorf("flags of %q: %t, want %t", text, got, want)
		}
	}
	var all Enum
	for i := range 64 {
		all.Members = append(all.Members, Member{Value: Value{Kind: crossing.KindInt, Text: strconv.FormatUint(1<<i, 10)}})
	}
	if all.Kind = crossing.KindInt; !all.Flags() {
		t.Error("64 bits are not flags")
	}
	if (&Enum{Kind: crossing.KindString, Members: []Member{{Value: Value{Kind: crossing.KindString, Text: "1"}}}}).Flags() {
		t.Error("an enum of strings has flags")
	}
}
