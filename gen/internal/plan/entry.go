package plan

// Kind is the kind of an entry.
type Kind string

// The kinds of entries.
const (
	KindFunction    Kind = "function"
	KindType        Kind = "type"
	KindField       Kind = "field"
	KindMethod      Kind = "method"
	KindConstructor Kind = "constructor"
)

// Status is the outcome for an item.
type Status string

// The statuses of entries.
const (
	Generated Status = "generated" // bound with its exact types
	Opaque    Status = "opaque"    // bound, but untyped: Reason says why
	InRuntime Status = "runtime"   // the runtime package has it
	Skipped   Status = "skipped"   // not bound: Reason says why
	Weakened  Status = "weakened"  // a type that was not asked for: signatures have an ancestor instead
)

// Entry is the outcome for one item of the schema.
type Entry struct {
	Kind Kind `json:"kind"`
	// Name is the registry name; the type key precedes the name of a member.
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Package is the directory below the output root, "." for the root.
	Package string `json:"package,omitempty"`
	// GoName is the Go name there; a method is written as Type.Method.
	GoName string `json:"go_name,omitempty"`
	// Packed is true for a function without a signature in the schema.
	Packed bool `json:"packed,omitempty"`
	// Renamed is the reason why GoName is not the converted registry name.
	Renamed string `json:"renamed,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Note holds additional information.
	Note string `json:"note,omitempty"`
	// LeftOut says what names files hold for the item and does not fit it.
	LeftOut string `json:"left_out,omitempty"`
	// Doc is what the configuration or a names file says about the item.
	Doc string `json:"-"`
}

// ID returns the unambiguous form of the entry's name for Rename and Skip.
func (e *Entry) ID() string { return string(e.Kind) + ":" + e.Name }
