// Graphs of the fake driver, which captures make. An executable graph has the nodes of the graph that it was made of.
#pragma once

#include "kernels.h"

struct GraphExec {
  int device;
  std::vector<NodeRef> nodes;  // each comes after its predecessors
  TaskRef last;                // of the launch before: a graph does not run beside itself
};

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

// Queues the nodes behind a task and returns a task that ends after them.
TaskRef start_nodes(Stream* st, const std::vector<NodeRef>& nodes, const TaskRef& head) {
  std::map<Node*, TaskRef> tasks;
  auto end = task("the end of a graph", nullptr);
  end->after = {head};
  for (auto& n : nodes) {
    TaskRef t = tasks[n.get()] = task_of(*n);
    t->after = {head};
    for (auto a : n->after) t->after.push_back(tasks[a]);
    start(st, t);
    end->after.push_back(t);
  }
  return end;
}
EXPORT int cuGraphLaunch(void* g, void* s) {
  ALONE(g);
  CALL("%llx %llx", num(g), num(s)); CONTEXT(); STREAM(s);
  auto x = static_cast<GraphExec*>(g);
  if (!executables.count(x) || x->device != dev) return kInvalidHandle;
  if (int rc = implicit(st)) return rc;
  if (st->capture) return spoil(st->capture, kNotSupported);  // a graph in a graph is not modelled
  auto head = task("the start of a graph", nullptr);
  if (x->last && x->last->state != Task::done) head->after.push_back(x->last);
  submit(st, head);
  x->last = start_nodes(st, x->nodes, head);
  submit(st, x->last);
  return kOk;
}
EXPORT int cuGraphExecDestroy(void* g) { ALONE(g); CALL("%llx", num(g)); if (!executables.erase(static_cast<GraphExec*>(g))) return kInvalidHandle; delete static_cast<GraphExec*>(g); return kOk; }
EXPORT int cuGraphDestroy(void* g) { ALONE(g); CALL("%llx", num(g)); if (!graph_set.erase(static_cast<Graph*>(g))) return kInvalidHandle; delete static_cast<Graph*>(g); return kOk; }

EXPORT int cuGraphInstantiateWithFlags(void** out, void* g, unsigned long long flags) {
  ALONE(g);
  CALL("%llx %llu", num(g), flags); CONTEXT();
  auto x = static_cast<Graph*>(g);
  if (!graph_set.count(x)) return kInvalidHandle;
  auto e = new GraphExec{dev, x->nodes, nullptr};
  executables.insert(e);
  *out = e;
  return kOk;
}
