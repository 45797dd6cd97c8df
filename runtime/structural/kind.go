package structural

// Kind reports how the objects of a type take part in structural equality and hash
// (TVMFFISEqHashKind).
type Kind int32

const (
	Unsupported    Kind = iota // refused
	Tree                       // by the fields
	FreeVar                    // a variable, bound where a field defines it
	DAG                        // by the fields, and shared where the other is shared
	ConstTree                  // like a tree, but without variables inside
	UniqueInstance             // by identity
)

// String returns the name of the kind.
func (k Kind) String() string {
	names := [...]string{"unsupported", "tree", "free variable", "DAG", "constant tree", "unique instance"}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}
