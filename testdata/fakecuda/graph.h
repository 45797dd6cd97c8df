// Graphs of the fake driver. An executable graph has copies of the nodes of the graph that it was made of.
#pragma once

#include "graphmemory.h"
#include "kernels.h"

struct GraphExec {
  int device;
  Graph* of;
  std::vector<Node*> names;      // the nodes of the graph
  std::vector<NodeRef> nodes;    // what runs, in an order in which each comes after its predecessors
  unsigned long long flags;
  TaskRef last;                  // of the launch before: a graph does not run beside itself
  std::vector<std::shared_ptr<void>> objects;  // of the user
  std::vector<uint64_t> conditions;
};
// Whether a graph can be instantiated, and its conditions; what happens to these at the beginning of each launch.
bool complete(const Graph& g, std::vector<uint64_t>* conditions);
void assign(const std::vector<uint64_t>& conditions);

namespace { std::set<GraphExec*> executables; }

// Alone is a call for a graph or an executable graph. NVIDIA's "Graph object thread safety" forbids that two threads are in
// such calls at the same time, also in calls that only read.
struct Alone {
  inline static std::mutex guard;
  inline static std::set<const void*> busy;
  const void* graph;
  const char* name;
  bool first;
  Alone(const void* g, const char* n) : graph(g), name(n) {
    std::lock_guard<std::mutex> lock(guard);
    first = busy.insert(g).second;
  }
  ~Alone() {
    if (first) {
      std::lock_guard<std::mutex> lock(guard);
      busy.erase(graph);
      return;
    }
    std::lock_guard<std::mutex> lock(mutex);
    violation("%s uses a graph that another thread uses at the same time", name);
  }
};
#define ALONE(g) Alone alone(g, __func__)

// The nodes in an order in which each comes after its predecessors, or nothing if there is a cycle.
std::vector<NodeRef> sorted(const Graph& g) {
  std::vector<NodeRef> out;
  std::set<Node*> done;
  while (out.size() < g.nodes.size()) {
    size_t before = out.size();
    for (auto& n : g.nodes) {
      if (done.count(n.get()) || !std::all_of(n->after.begin(), n->after.end(), [&](Node* a) { return done.count(a) > 0; })) continue;
      out.push_back(n);
      done.insert(n.get());
    }
    if (out.size() == before) return {};
  }
  return out;
}
// Takes copies of nodes, with edges between the copies.
void take(const std::vector<NodeRef>& from, std::vector<Node*>* names, std::vector<NodeRef>* to) {
  std::map<Node*, Node*> copies;
  names->clear();
  to->clear();
  for (auto& n : from) {
    auto c = std::make_shared<Node>(*n);
    if (c->copied) c->copied(c.get());
    for (auto& a : c->after) a = copies[a];
    copies[n.get()] = c.get();
    names->push_back(n.get());
    to->push_back(c);
  }
}
// The part of an executable graph that a node stands for, which may be in the body of a conditional node; null if there is none.
Node* part_of(const std::vector<Node*>& names, const std::vector<NodeRef>& nodes, void* h) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == h) return nodes[i].get();
    if (!nodes[i]->inside) continue;
    for (auto& body : *nodes[i]->inside)
      if (Node* part = part_of(body.names, body.nodes, h)) return part;
  }
  return nullptr;
}
// Compares the form of an executable graph with that of another one: 0 or a CUgraphExecUpdateResult.
int compare(const std::vector<NodeRef>& nodes, const std::vector<NodeRef>& others) {
  if (nodes.size() != others.size()) return 2;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node &a = *nodes[i], &b = *others[i];
    if (a.type != b.type) return 3;
    if (a.after.size() != b.after.size()) return 2;
    if (!a.inside) continue;
    if (a.inside->size() != b.inside->size()) return 5;
    for (size_t j = 0; j < a.inside->size(); ++j)
      if (int result = compare((*a.inside)[j].nodes, (*b.inside)[j].nodes)) return result;
  }
  return 0;
}
// Lets the nodes that stood for the bodies of a graph stand for those of a graph of the same form.
void keep_names(const std::vector<NodeRef>& before, const std::vector<NodeRef>& now) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (!before[i]->inside) continue;
    for (size_t j = 0; j < before[i]->inside->size(); ++j) {
      (*now[i]->inside)[j].names = (*before[i]->inside)[j].names;
      keep_names((*before[i]->inside)[j].nodes, (*now[i]->inside)[j].nodes);
    }
  }
}
// Queues the nodes behind tasks and returns their tasks.
std::vector<TaskRef> start_nodes(Stream* st, const std::vector<NodeRef>& nodes, const std::vector<TaskRef>& after) {
  std::map<Node*, TaskRef> tasks;
  std::vector<TaskRef> all;
  for (auto& n : nodes) {
    std::vector<TaskRef> before = after;
    for (auto a : n->after) before.push_back(tasks[a]);
    TaskRef t;
    if (n->expand && n->enabled) {
      t = n->expand(st, before);
    } else {
      t = task_of(*n);
      t->after = before;
      start(st, t);
    }
    tasks[n.get()] = t;
    all.push_back(t);
  }
  return all;
}
EXPORT int cuGraphLaunch(void* g, void* s) {
  ALONE(g);
  CALL("%llx %llx", num(g), num(s)); CONTEXT(); STREAM(s);
  auto x = static_cast<GraphExec*>(g);
  if (!executables.count(x) || x->device != dev) return kInvalidHandle;
  if (int rc = implicit(st)) return rc;
  if (st->capture) {  // it becomes a child
    Node child = work(4, "a graph", nullptr);
    auto nodes = x->nodes;
    child.expand = [nodes](Stream* on, std::vector<TaskRef> after) {
      auto end = task("the end of a child graph", nullptr);
      end->after = start_nodes(on, nodes, after);
      end->after.insert(end->after.end(), after.begin(), after.end());
      start(on, end);
      return end;
    };
    return queue(st, child);
  }
  if (int rc = allocate_for_launch(x->nodes, x->flags & 1, st)) return rc;
  auto conditions = x->conditions;
  auto objects = x->objects;  // which the launch keeps
  auto head = task("the start of a graph", [conditions] { assign(conditions); }), end = task("the end of a graph", [objects] {});
  if (x->last && x->last->state != Task::done) head->after.push_back(x->last);
  submit(st, head);
  end->after = start_nodes(st, x->nodes, {head});
  end->after.push_back(head);
  x->last = end;
  submit(st, end);
  if (seed == 0) force(end, false);
  return kOk;
}
EXPORT int cuGraphExecDestroy(void* g) { ALONE(g); CALL("%llx", num(g)); if (!executables.erase(static_cast<GraphExec*>(g))) return kInvalidHandle; delete static_cast<GraphExec*>(g); return kOk; }
EXPORT int cuGraphGetNodes(void* g, void** nodes, size_t* n) {
  ALONE(g);
  CALL("%llx", num(g));
  auto x = static_cast<Graph*>(g);
  if (!graph_set.count(x)) return kInvalidHandle;
  for (size_t i = 0; nodes && i < *n && i < x->nodes.size(); ++i) nodes[i] = x->nodes[i].get();
  *n = x->nodes.size();
  return kOk;
}
EXPORT int cuGraphNodeGetType(void* node, int* type) { CALL("%llx", num(node)); *type = static_cast<Node*>(node)->type; return kOk; }
struct KernelNode { Function* f; Dim grid, block; unsigned shared; void** params; void** extra; };
EXPORT int cuGraphKernelNodeGetParams(void* h, KernelNode* p) {
  CALL("%llx", num(h));
  auto node = static_cast<Node*>(h);
  if (node->type != 0) return kInvalidValue;
  *p = {node->f, node->grid, node->block, node->shared, nullptr, nullptr};
  return kOk;
}
EXPORT int cuGraphExecKernelNodeSetParams(void* g, void* h, const KernelNode* p) {
  ALONE(g);
  LOCK;
  std::string text;
  auto args = arguments(p->f, p->params, &text);
  if (int rc = enter(__func__, "grid=%u,%u,%u block=%u,%u,%u shared=%u args=%s extra=%llx", p->grid.x, p->grid.y, p->grid.z, p->block.x, p->block.y, p->block.z,
                     p->shared, text.c_str(), num(p->extra))) return rc;
  auto x = static_cast<GraphExec*>(g);
  if (!executables.count(x) || !graph_set.count(x->of)) return kInvalidHandle;
  Node node, *part = part_of(x->names, x->nodes, h);
  if (!part || part->type != 0 || part->f->device != p->f->device) return kInvalidValue;
  if (int rc = launch(p->f, p->grid, p->block, p->shared, args, &node)) return rc;
  node.after = part->after;
  node.enabled = part->enabled;
  *part = node;
  return kOk;
}
EXPORT int cuGraphExecUpdate(void* e, void* g, void** node, int* result) {
  ALONE(e);
  CALL("%llx %llx", num(e), num(g));
  auto x = static_cast<GraphExec*>(e);
  auto y = static_cast<Graph*>(g);
  if (!executables.count(x) || !graph_set.count(y)) return kInvalidHandle;
  *node = nullptr;
  std::vector<Node*> names;
  std::vector<NodeRef> nodes;
  take(sorted(*y), &names, &nodes);
  if ((*result = compare(x->nodes, nodes))) return kGraphUpdate;
  keep_names(x->nodes, nodes);
  x->nodes = nodes;  // the nodes of the first graph still name them
  x->objects = y->objects;
  x->conditions.clear();
  complete(*y, &x->conditions);
  return kOk;
}
EXPORT int cuGraphDestroy(void* g) { ALONE(g); CALL("%llx", num(g)); if (!graph_set.erase(static_cast<Graph*>(g))) return kInvalidHandle; delete static_cast<Graph*>(g); return kOk; }

EXPORT int cuGraphInstantiateWithFlags(void** out, void* g, unsigned long long flags) {
  ALONE(g);
  CALL("%llx %llu", num(g), flags); CONTEXT();
  auto x = static_cast<Graph*>(g);
  if (!graph_set.count(x)) return kInvalidHandle;
  auto nodes = sorted(*x);
  if (nodes.size() != x->nodes.size()) return kInvalidValue;
  std::vector<uint64_t> conditions;
  if (!complete(*x, &conditions)) return kInvalidValue;
  auto e = new GraphExec{dev, x, {}, {}, flags, nullptr, x->objects, conditions};
  take(nodes, &e->names, &e->nodes);
  executables.insert(e);
  *out = e;
  return kOk;
}
