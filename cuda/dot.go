package cuda

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Nodes returns the nodes of the graph, but not those in bodies of conditional nodes and in child graphs.
// For a graph of a builder they are the nodes of the builder. Those of a captured graph are in
// the order in which the driver lists them, which on one stream is that of the capture.
func (gr *Graph) Nodes() (nodes []*GraphNode, err error) {
	if _, err := gr.live(); err != nil {
		return nil, err
	}
	if gr.from != nil {
		if _, err := gr.from.live(); err != nil {
			return nil, err
		}
		for _, n := range gr.from.nodes {
			if n.index <= gr.nodes {
				nodes = append(nodes, n)
			}
		}
		return nodes, nil
	}
	if gr.read.Load() == nil {
		b, err := gr.readCaptured()
		if err != nil {
			return nil, err
		}
		gr.read.CompareAndSwap(nil, b) // two goroutines that ask first get the same nodes
	}
	return gr.read.Load().Nodes(), nil
}

// readCaptured returns the captured work with its nodes.
func (gr *Graph) readCaptured() (*GraphBuilder, error) {
	b := &GraphBuilder{from: gr}
	b.s, b.what, b.root = gr.s, gr.what, b
	if err := b.readNodes(); err != nil {
		return nil, about(err, "the %s", gr.what)
	}
	return b, nil
}

// readNodes asks the driver for the nodes of captured work.
func (b *GraphBuilder) readNodes() (err error) {
	h, err := b.live()
	if err != nil {
		return err
	}
	g, err := b.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := b.from.lock(); err != nil {
		return err
	}
	defer b.from.calls.Unlock()
	if err := g.call(driver.GraphGetNodes, h, 0, g.out(0)); err != nil {
		return err
	}
	handles := make([]uintptr, g.result(0))
	if len(handles) == 0 {
		return nil
	}
	if err := g.callGo(driver.GraphGetNodes, h, uintptr(unsafe.Pointer(unsafe.SliceData(handles))), g.out(0)); err != nil {
		return err
	}
	for i, handle := range handles {
		if err := g.call(driver.GraphNodeGetType, handle, g.out(0)); err != nil {
			return err
		}
		n := &GraphNode{b: b, handle: handle, index: i + 1, kind: nodeKind(g.result(0))}
		n.label = n.Kind()
		if n.kind == nodeKernel {
			if err := g.callGo(driver.GraphKernelNodeGetParams, handle, uintptr(unsafe.Pointer(&n.launch))); err != nil {
				return err
			}
		}
		b.nodes = append(b.nodes, n)
	}
	return nil
}

// readEdges asks for the dependencies of captured work and for the names of its kernels.
func (b *GraphBuilder) readEdges() (err error) {
	h, err := b.live()
	if err != nil {
		return err
	}
	g, err := b.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := b.from.lock(); err != nil {
		return err
	}
	defer b.from.calls.Unlock()
	from, to, err := g.edges(h, driver.GraphGetEdgesData)
	if err != nil { // an older driver, whose graphs have no annotations
		if from, to, err = g.edges(h, driver.GraphGetEdges); err != nil {
			return err
		}
	}
	nodes := map[uintptr]*GraphNode{}
	for _, node := range b.nodes {
		nodes[node.handle], node.after = node, nil
		if node.kind == nodeKernel && g.raw(driver.FuncGetName, g.out(1), node.launch.function) == 0 { // not an old driver
			node.label = fmt.Sprintf("kernel %q", driver.Text(g.result(1)))
		}
	}
	for i := range from {
		if before, n := nodes[from[i]], nodes[to[i]]; before != nil && n != nil {
			n.after = append(n.after, before)
		}
	}
	for _, n := range b.nodes {
		slices.SortFunc(n.after, func(x, y *GraphNode) int { return x.index - y.index })
	}
	return nil
}

// edges returns the dependencies of a CUgraph. GraphGetEdges fails for a graph with
// programmatic dependencies.
func (g *guard) edges(h uintptr, f driver.Func) (from, to []uintptr, err error) {
	annotated := f == driver.GraphGetEdgesData
	if annotated {
		err = g.call(f, h, 0, 0, 0, g.out(0))
	} else {
		err = g.call(f, h, 0, 0, g.out(0))
	}
	n := g.result(0)
	if err != nil || n == 0 {
		return nil, nil, err
	}
	from, to = make([]uintptr, n), make([]uintptr, n)
	if annotated {
		data := make([]edge, n)
		err = g.callGo(f, h, uintptr(unsafe.Pointer(unsafe.SliceData(from))), uintptr(unsafe.Pointer(unsafe.SliceData(to))),
			uintptr(unsafe.Pointer(unsafe.SliceData(data))), g.out(0))
	} else {
		err = g.callGo(f, h, uintptr(unsafe.Pointer(unsafe.SliceData(from))), uintptr(unsafe.Pointer(unsafe.SliceData(to))), g.out(0))
	}
	return from, to, err
}

// DOT describes the nodes and their order in the language of Graphviz: `dot -Tsvg` draws it. The
// bodies of conditional nodes and child graphs are boxes. Copies say how much goes from where to
// where, such as "copy of 2 rows of 12 bytes, host to cuda:0". The text of the same graph
// is the same each time.
func (b *GraphBuilder) DOT() (string, error) {
	if _, err := b.live(); err != nil {
		return "", err
	}
	return picture(b.nodes), nil
}

// DOT is [GraphBuilder.DOT] for a graph as it was made or captured: Update, Enable and the methods that
// set something do not change it. Kernels of captured graphs have names from CUDA 12.3 on.
func (gr *Graph) DOT() (string, error) {
	nodes, err := gr.Nodes()
	if err != nil {
		return "", err
	}
	if gr.from == nil {
		b, err := gr.readCaptured() // nodes of its own, which it completes
		if err != nil {
			return "", err
		}
		if err := b.readEdges(); err != nil {
			return "", about(err, "the %s", gr.what)
		}
		nodes = b.nodes
	}
	return picture(nodes), nil
}

// picture writes the text of DOT.
func picture(nodes []*GraphNode) string {
	d := &drawing{}
	d.WriteString("digraph cuda {\n  compound=true;\n  node [shape=box];\n")
	d.draw(nodes, "n", "  ")
	d.WriteString("}\n")
	return d.String()
}

type drawing struct{ strings.Builder }

// draw writes nodes, whose names begin with a prefix, and what they come after.
func (d *drawing) draw(nodes []*GraphNode, prefix, indent string) {
	name := func(n *GraphNode) string { return fmt.Sprintf("%s%d", prefix, n.index) }
	for _, n := range nodes {
		label := fmt.Sprintf("%d: %s", n.index, n.label)
		if n.kind == nodeKernel {
			g, b := n.launch.grid, n.launch.block
			label += fmt.Sprintf("\n%d x %d x %d blocks of %d x %d x %d threads", g.X, g.Y, g.Z, b.X, b.Y, b.Z)
		}
		fmt.Fprintf(d, "%s%s [label=%s];\n", indent, name(n), dotText(label))
	}
	for _, n := range nodes {
		for _, before := range n.after {
			fmt.Fprintf(d, "%s%s -> %s;\n", indent, name(before), name(n))
		}
		for i, body := range n.bodies {
			d.box(n, body.nodes, fmt.Sprintf("%s_%d", name(n), i), fmt.Sprintf("body %d of node %d", i, n.index), indent)
		}
		if n.child != nil {
			d.box(n, n.child, name(n)+"_0", fmt.Sprintf("graph of node %d", n.index), indent)
		}
	}
}

// box writes the graph of node n. Its name is that of n and a number.
func (d *drawing) box(n *GraphNode, nodes []*GraphNode, name, label, indent string) {
	fmt.Fprintf(d, "%ssubgraph cluster_%s {\n%s  label=%s;\n", indent, name, indent, dotText(label))
	prefix := name + "_"
	d.draw(nodes, prefix, indent+"  ")
	fmt.Fprintf(d, "%s}\n", indent)
	if len(nodes) > 0 {
		owner := name[:strings.LastIndex(name, "_")]
		fmt.Fprintf(d, "%s%s -> %s%d [style=dashed, lhead=cluster_%s];\n", indent, owner, prefix, nodes[0].index, name)
	}
}

// dotText quotes a label.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
