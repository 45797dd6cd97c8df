package names

import "testing"

func TestJoin(t *testing.T) {
	cases := []struct{ owner, member, want string }{
		{"Rose", "Graft", "RoseGraft"},
		{"Rose", "Rose", "RoseRose"},
		{"BatchMatcher", "BatchAccept", "BatchMatcherAccept"},
		{"BatchMatcher", "Batches", "BatchMatcherBatches"},
		{"BlockBuilder", "BuilderEmit", "BlockBuilderEmit"},
		{"BlockBuilder", "BlockBuilderEmit", "BlockBuilderEmit"},
		{"IRModule", "ModuleFrom", "IRModuleFrom"},
		{"Größe", "GrößeMessen", "GrößeMessen"},
	}
	for _, c := range cases {
		if got := join(c.owner, c.member); got != c.want {
			t.Errorf("join(%q, %q) = %q, want %q", c.owner, c.member, got, c.want)
		}
	}
}

func TestFileNames(t *testing.T) {
	for in, want := range map[string]string{"Plant": "plant", "TestObjectBase": "test_object_base", "IRModule": "ir_module",
		"PlantLinux": "plant_linux", "Plant_linux": "plant_linux", "Größe": "gru00f6u00dfe"} {
		if got := fileName(in); got != want {
			t.Errorf("fileName(%q) = %q, want %q", in, got, want)
		}
	}
}
