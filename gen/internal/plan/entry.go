package plan

import "github.com/tvmffi-go/tvmffi/schema"

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
	Name string `json:"name"`
	// Overload is set if several methods have this name: the parameters, such as "(int)".
	Overload string `json:"overload,omitempty"`
	Status   Status `json:"status"`
	// Package is the directory below the output root, "." for the root.
	Package string `json:"package,omitempty"`
	// GoName is the Go name there; a method is written as Type.Method.
	GoName string `json:"go_name,omitempty"`
	// Packed is true for a function without a signature in the schema.
	Packed bool `json:"packed,omitempty"`
	// Renamed is the reason why GoName is not the converted registry name.
	Renamed string `json:"renamed,omitempty"`
	// Signature is the signature with the types of the hints, or the type of a field; "" if hints change nothing.
	Signature string `json:"signature,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Note holds additional information.
	Note string `json:"note,omitempty"`
	// LeftOut says what names files hold for the item and does not fit it.
	LeftOut string `json:"left_out,omitempty"`
	// Types is the signature that the hints change, with the names of the parameters.
	Types *schema.Signature `json:"-"`
	// Narrow is set if Signature has ints of a certain width.
	Narrow bool `json:"-"`
	// Doc is what the configuration or a names file says about the item.
	Doc string `json:"-"`
	// Params are the parameters of a method with a signature, in the form of Overload.
	Params string `json:"-"`
	// Declarations are the Go declarations of the item, without bodies, in a report of Preview: of a field
	// the getter and the setter, and after a function the funcs that make its options.
	Declarations [][]Span `json:"-"`
	// Export is the library of a function of a module, without what differs between platforms.
	Export string `json:"-"`
}

// ID returns the unambiguous form of the entry's name for Rename and Skip.
func (e *Entry) ID() string { return string(e.Kind) + ":" + e.Name }

// Keys returns the names of the item in a configuration, the most exact first.
func (e *Entry) Keys() []string {
	keys := []string{e.ID(), e.Name}
	if e.Params != "" {
		keys = append([]string{e.ID() + e.Params, e.Name + e.Params}, keys...)
	}
	return keys
}

// Plain reports whether a key of Keys stands for all overloads of a method.
func (e *Entry) Plain(key string) bool { return key == e.ID() || key == e.Name }

// Item returns what tells the item from all others, in a form that stays the same as long as the
// item does: "function:garden.water", "export:water of garden", "method:garden.Rose.prune(int)".
func (e *Entry) Item() string {
	if e.Export != "" {
		return "export:" + e.Name + " of " + e.Export
	}
	return e.ID() + e.Params
}
