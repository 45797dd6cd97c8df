package paint

// Pot is a mixer with a name.
//
//tvmffi:object opaque
type Pot struct {
	Mixer
	name string
}

// NewPot makes an empty pot.
//
//tvmffi:constructor
func NewPot(name string) *Pot { return &Pot{name: name} }

// String returns the name.
//
//tvmffi:method
func (p *Pot) String() string { return p.name }

// Close closes the pot.
//
//tvmffi:method
func (p *Pot) Close() {}
