// Memory that graphs of the fake driver allocate. The address is fixed when the node is made; the memory is there from the
// run of that node until it is freed. What the calls of the program say about that is known before it runs: a launch is
// refused if memory of the launch before is still there, unless the graph frees it by itself.
#pragma once

#include "engine.h"

namespace {

// Ends the reservation with the last graph that has the node. Memory that is allocated by then belongs to the program.
void end_graph_memory(GraphMemory* m) {
  auto b = blocks.find(m->address);
  if (b != blocks.end() && b->second.graph == m) {
    b->second.graph = nullptr;
    if (b->second.promised) bury(m->address, "the end of its graph");
  }
  delete m;
}

// Makes a node that allocates.
int graph_allocation(uintptr_t* p, size_t n, int dev, Node* node) {
  if (int rc = allocate(p, n, Kind::device, dev)) return rc;
  std::shared_ptr<GraphMemory> m(new GraphMemory{*p, n, dev}, end_graph_memory);
  Block& b = blocks[*p];
  b.graph = m.get();
  b.promised = true;
  *node = work(10, "an allocation", [m] {
    auto b = blocks.find(m->address);
    if (b == blocks.end()) return;
    if (!b->second.promised) violation("memory at %zx is allocated by a graph before it is freed in stream order", m->address);
    b->second.promised = false;
    count_graph_memory(m->device, m->size, 0);
  });
  node->memory = *p;
  return kOk;
}

// Makes a node that frees memory of a graph.
Node graph_free(uintptr_t p) {
  Node node = work(11, "a free", [p] {
    auto b = blocks.find(p);
    if (b == blocks.end()) return;
    if (b->second.promised) violation("memory at %zx is freed before its allocation in stream order", p);
    bury(p, "a node of a graph");
  });
  node.memory = p;
  return node;
}

// Does what a launch means for the memory of its nodes: an error if some is still there, or its end before the launch.
int allocate_for_launch(const std::vector<NodeRef>& nodes, bool automatic, Stream* st) {
  auto of = [](const NodeRef& n) -> GraphMemory* {
    auto b = blocks.find(n->memory);
    return n->memory && b != blocks.end() ? b->second.graph : nullptr;
  };
  for (auto& n : nodes)
    if (n->type == 10 && of(n) && of(n)->out && !automatic) return kInvalidValue;
  for (auto& n : nodes)
    if (n->type == 10 && of(n)) {
      if (of(n)->out) submit(st, task_of(graph_free(n->memory)));
      of(n)->out = true;
    }
  for (auto& n : nodes)
    if (n->type == 11 && of(n)) of(n)->out = false;
  return kOk;
}

}  // namespace
