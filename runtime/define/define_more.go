package define

// More adds the options that a variable holds when the type is registered, not when
// it is defined. A method of a struct may so use the variable of its own type, which
// would otherwise be a cycle of initialisation:
//
//	var PointType = define.Define[Point]("demo.Point", define.More(&pointMembers))
//
//	var pointMembers []define.TypeOption
//
//	func init() { pointMembers = []define.TypeOption{tvmffi.Method("twice", Point.Twice)} }
func More(options *[]TypeOption) TypeOption {
	return typeOption(func(d *definition) {
		for _, o := range *options {
			o.describe(d)
		}
	})
}
