package tvmffi

// More adds the options that a variable holds when the type is registered, not when
// it is defined. A method of a struct may so use the variable of its own type, which
// would otherwise be a cycle of initialisation:
//
//	var PointType = tvmffi.Define[Point]("demo.Point", tvmffi.More(&pointMembers))
//
//	var pointMembers []tvmffi.TypeOption
//
//	func init() { pointMembers = []tvmffi.TypeOption{tvmffi.Method("twice", Point.Twice)} }
func More(options *[]TypeOption) TypeOption {
	return typeOption(func(d *definition) {
		for _, o := range *options {
			o.describe(d)
		}
	})
}
