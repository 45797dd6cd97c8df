package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/gen/internal/kernel"
)

// launchFunc writes the func that checks the packed arguments and launches.
func launchFunc(f *jen.File, k *kernel.Kernel) {
	f.Line()
	f.Func().Id("launch"+k.GoName).Params(jen.Id("args").Index().Add(kernelrt("Value")), jen.Id("stream").Add(kernelrt("Stream"))).Error().
		BlockFunc(func(g *jen.Group) {
			(&acceptor{Kernel: k, body: g}).write()
			dims := fmt.Sprintf("Grid: %s, Block: %s", launchSizes(k, k.Grid), launchSizes(k, k.Block))
			if len(k.Cluster) > 0 {
				dims += ", Cluster: " + launchSizes(k, k.Cluster)
			}
			if k.Shared != nil {
				dims += ", Shared: " + launchExpr(k, k.Shared)
			}
			g.Id("d").Op(":=").Add(kernelrt("Dims")).Values(jen.Id(dims))
			g.List(jen.Id("l"), jen.Err()).Op(":=").Id("kernel"+k.GoName).Dot("Begin").Call(jen.Id(k.Tensors[k.Device]+".Device.ID"), address("d"))
			g.If(jen.Id("l").Op("==").Nil()).Block(jen.Return(jen.Err()))
			for i, a := range k.Args {
				g.Id("l").Dot(a.Method).Call(jen.Lit(i), jen.Id(launchArg(k, a)))
			}
			g.Return(jen.Id("l").Dot("Run").Call(jen.Id("stream")))
		})
}

func launchExpr(k *kernel.Kernel, e *kernel.Expr) string {
	switch {
	case e.Func != "":
		return fmt.Sprintf("kernelrt.%s(%s, %s)", e.Func, launchExpr(k, e.A), launchExpr(k, e.B))
	case e.Var >= 0:
		return k.Locals[e.Var]
	}
	return strconv.FormatInt(e.Value, 10)
}

// launchSizes writes three sizes; those that are missing are 1.
func launchSizes(k *kernel.Kernel, list []*kernel.Expr) string {
	sizes := []string{"1", "1", "1"}
	for i, e := range list {
		sizes[i] = launchExpr(k, e)
	}
	return "[3]int64{" + strings.Join(sizes, ", ") + "}"
}

// launchArg writes the value of a parameter of the kernel.
func launchArg(k *kernel.Kernel, a kernel.Arg) string {
	switch {
	case a.Var >= 0 && a.Operand >= 0 && k.Plan.Vars[a.Var].DType == spec.Bool:
		return fmt.Sprintf("kernelrt.Truth(%s)", k.Locals[a.Var])
	case a.Var >= 0:
		return k.Locals[a.Var]
	case k.Tensors[a.Operand] != "":
		return fmt.Sprintf("kernelrt.Address(%s)", k.Tensors[a.Operand])
	}
	arg := k.Leaf[a.Operand]
	if a.Method == "Pointer" {
		return fmt.Sprintf("uintptr(args[%d].Bits)", arg)
	}
	if strings.HasPrefix(a.Method, "Word") { // an element without a name
		value := fmt.Sprintf("int64(args[%d].Bits)", arg)
		if k.Plan.Operands[a.Operand].Param.(spec.Var).DType == spec.Bool {
			value = fmt.Sprintf("kernelrt.Truth(%s)", value)
		}
		return value
	}
	return fmt.Sprintf("kernelrt.Float(args[%d])", arg)
}
