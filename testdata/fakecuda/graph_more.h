// Graphs of single nodes of the fake driver: nodes of each kind, conditional nodes, functions of the host and their user
// objects, changes of executable graphs, and the memory of graphs.
//
// Kernels for conditional nodes: set_conditional(handle, value) sets a condition. count_down(handle, int* n) subtracts 1 from n
// and sets the condition to whether that is above 0. add_to(int* n, int v) adds v. step(float* x, int n, handle) adds 1 to n numbers
// and sets the condition to whether the first is below 3.
#pragma once

#include "graph.h"
#include "memory.h"

namespace {

std::set<Graph*> bodies;  // graphs that a conditional node has

bool has_graph(Graph* g) { return graph_set.count(g) || bodies.count(g); }
Node* node_in(Graph* g, void* h) {
  for (auto& n : g->nodes)
    if (n.get() == h) return n.get();
  return nullptr;
}

// ---- conditions

struct Condition { uint32_t value, start; bool assign, used; int device; unsigned long long graph; };
std::map<uint64_t, Condition> conditions;

void set_condition(int dev, uint64_t handle, uint32_t value) {
  auto c = conditions.find(handle);
  if (c == conditions.end()) return violation("a kernel sets the condition %llx, which is not one", static_cast<unsigned long long>(handle));
  if (c->second.device != dev) return violation("a kernel sets a condition of another device");
  c->second.value = value;
}

struct Conditional {
  uint64_t handle;
  int type;  // 0 if, 1 while, 2 switch
  std::vector<std::shared_ptr<Graph>> graphs;     // which the program fills
  std::shared_ptr<std::vector<Node::Body>> bodies;  // what runs
  std::vector<Graph*> handles;                    // the array that the program gets
};

void run_inline(const std::vector<NodeRef>& nodes);
void run_conditional(const Conditional& c) {
  auto value = [&] { return conditions[c.handle].value; };
  auto& bodies = *c.bodies;
  switch (c.type) {
    case 0:
      if (value()) run_inline(bodies[0].nodes);
      else if (bodies.size() == 2) run_inline(bodies[1].nodes);
      return;
    case 1:
      for (int i = 0; value(); ++i) {
        if (i == 1000) return violation("a while node does not end");
        run_inline(bodies[0].nodes);
      }
      return;
    default:
      if (value() < bodies.size()) run_inline(bodies[value()].nodes);
  }
}
void run_inline(const std::vector<NodeRef>& nodes) {
  for (auto& n : nodes)
    if (n->enabled && n->work) n->work();
}

// Copies of the nodes of a graph, in an order that its edges allow. Nothing if there is a cycle.
std::vector<NodeRef> snapshot(const Graph& g) {
  std::vector<Node*> names;
  std::vector<NodeRef> out;
  take(sorted(g), &names, &out);
  return out;
}

// Whether a body may have the nodes of a graph.
bool allowed_in_body(const std::vector<NodeRef>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [](const NodeRef& n) { return n->type == 0 || n->type == 1 || n->type == 2 || n->type == 4 || n->type == 5 || n->type == 13; });
}

}  // namespace

bool complete(const Graph& g, std::vector<uint64_t>* mine) {
  for (auto& c : conditions) {
    if (c.second.graph != g.serial) continue;
    if (!c.second.used) return false;
    mine->push_back(c.first);
  }
  for (auto& n : g.nodes) {
    if (n->type != 13) continue;
    for (auto h : *reinterpret_cast<std::vector<Graph*>*>(n->memory))
      if (sorted(*h).size() != h->nodes.size() || !allowed_in_body(h->nodes) || !complete(*h, mine)) return false;
  }
  return true;
}
void assign(const std::vector<uint64_t>& mine) {
  for (auto h : mine)
    if (conditions[h].assign) conditions[h].value = conditions[h].start;
}

namespace {

// ---- user objects

struct UserObject {
  void* data;
  void (*destroy)(void*);
  ~UserObject() {  // on a thread of the driver
    if (!exiting) std::thread(destroy, data).detach();
  }
};
std::map<void*, std::pair<std::shared_ptr<UserObject>, unsigned>> user_objects;  // with the references of the program

}  // namespace

EXPORT int cuGraphCreate(void** out, unsigned flags) {
  CALL("%u", flags); CONTEXT();
  if (flags) return kInvalidValue;
  auto g = new Graph;
  graph_set.insert(g);
  *out = g;
  return kOk;
}

#define GRAPH(h)                                                                   \
  auto g = static_cast<Graph*>(h);                                                 \
  if (!has_graph(g)) return kInvalidHandle;                                        \
  std::vector<Node*> before;                                                       \
  for (size_t i = 0; i < count; ++i) {                                             \
    Node* d = node_in(g, after[i]);                                                \
    if (!d || std::find(before.begin(), before.end(), d) != before.end()) return kInvalidValue; \
    before.push_back(d);                                                           \
  }
#define AFTER void **out, void *graph, void **after, size_t count

static int put(void** out, Graph* g, Node node, std::vector<Node*> before) {
  *out = add(g, std::move(node), std::move(before));
  return kOk;
}

EXPORT int cuGraphAddKernelNode(AFTER, const KernelNode* p) {
  LOCK;
  std::string text;
  Arguments args;
  if (functions.count(p->f)) args = arguments(p->f, p->params, &text);
  if (int rc = enter(__func__, "after=%zu grid=%u,%u,%u block=%u,%u,%u shared=%u args=%s extra=%llx", count, p->grid.x, p->grid.y, p->grid.z, p->block.x, p->block.y, p->block.z,
                     p->shared, text.c_str(), num(p->extra))) return rc;
  GRAPH(graph);
  if (!functions.count(p->f)) return kInvalidHandle;
  Node node;
  if (int rc = launch(p->f, p->grid, p->block, p->shared, args, &node)) return rc;
  return put(out, g, node, before);
}
EXPORT int cuGraphKernelNodeSetAttribute(void* h, int id, const unsigned* v) {
  CALL("%d=%u,%u,%u", id, v[0], id == 4 ? v[1] : 0, id == 4 ? v[2] : 0);
  auto node = static_cast<Node*>(h);
  if (node->type != 0 || (id != 2 && id != 4 && id != 8 && id != 10 && id != 1)) return kInvalidValue;
  return kOk;
}
struct CopyNode {
  size_t src_x, src_y, src_z, src_lod; int src_type; uintptr_t src_host, src_device; void *src_array, *reserved0; size_t src_pitch, src_rows;
  size_t dst_x, dst_y, dst_z, dst_lod; int dst_type; uintptr_t dst_host, dst_device; void *dst_array, *reserved1; size_t dst_pitch, dst_rows;
  size_t width, height, depth;
};
// Makes the node of a copy.
static int copy_node(const CopyNode& p, void* context, Node* node) {
  if (!p.width || !p.height || !p.depth || p.src_lod || p.dst_lod || p.src_array || p.dst_array || p.reserved0 || p.reserved1) return kInvalidValue;
  if (context != &contexts[0] && context != &contexts[1]) return kInvalidContext;
  struct Side { uintptr_t base; size_t x, y, z, pitch, rows; } from{p.src_type == 1 ? p.src_host : p.src_device, p.src_x, p.src_y, p.src_z, p.src_pitch, p.src_rows},
      to{p.dst_type == 1 ? p.dst_host : p.dst_device, p.dst_x, p.dst_y, p.dst_z, p.dst_pitch, p.dst_rows};
  int device[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    const Side& s = i ? to : from;
    const int type = i ? p.dst_type : p.src_type;
    if (type != 1 && type != 2 && type != 4) return kInvalidValue;
    if ((p.height > 1 || p.depth > 1) && s.pitch < s.x + p.width) return kInvalidValue;
    if (p.depth > 1 && s.rows < s.y + p.height) return kInvalidValue;
    size_t last = s.x + p.width + (s.y + p.height - 1) * s.pitch + (s.z + p.depth - 1) * s.rows * s.pitch;
    if (!inside(s.base, last, &device[i]) || (type == 1) != (device[i] == -1)) return kInvalidValue;
  }
  if (device[0] >= 0 && device[1] >= 0 && device[0] != device[1] && (p.src_type != 4 || p.dst_type != 4)) return kInvalidValue;
  const size_t width = p.width, height = p.height, depth = p.depth;
  *node = work(1, "a copy in a graph", [=] {
    for (size_t z = 0; z < depth; ++z)
      for (size_t y = 0; y < height; ++y)
        copy("a copy in a graph", to.base + to.x + (to.y + y) * to.pitch + (to.z + z) * to.rows * to.pitch,
             from.base + from.x + (from.y + y) * from.pitch + (from.z + z) * from.rows * from.pitch, width, false, false);
  });
  node->grid = {static_cast<unsigned>(p.src_type), static_cast<unsigned>(p.dst_type), height == 1 && depth == 1};
  return kOk;
}
#define COPY_TEXT "%d:%zx %d:%zx %zux%zux%zu", p->src_type, p->src_type == 1 ? p->src_host : p->src_device, p->dst_type, \
  p->dst_type == 1 ? p->dst_host : p->dst_device, p->width, p->height, p->depth
EXPORT int cuGraphAddMemcpyNode(AFTER, const CopyNode* p, void* context) {
  CALL(COPY_TEXT); GRAPH(graph);
  Node node;
  if (int rc = copy_node(*p, context, &node)) return rc;
  return put(out, g, node, before);
}
struct FillNode { uintptr_t to; size_t pitch; unsigned value, size; size_t width, height; };
static int fill_node(const FillNode& p, void* context, Node* node) {
  if (context != &contexts[0] && context != &contexts[1]) return kInvalidContext;
  if ((p.size != 1 && p.size != 2 && p.size != 4) || !p.width || !p.height || p.to % p.size) return kInvalidValue;
  if (p.height > 1 && (p.pitch < p.width * p.size || p.pitch % p.size)) return kInvalidValue;
  int device = -1;
  if (!inside(p.to, p.width * p.size + (p.height - 1) * p.pitch, &device) || device < 0) return kInvalidValue;
  FillNode f = p;
  *node = work(2, "a fill in a graph", [f] {
    for (size_t y = 0; y < f.height; ++y) {
      uintptr_t row = f.to + y * f.pitch;
      if (!use("a fill in a graph", row, f.width * f.size, -1, true)) return;
      for (size_t x = 0; x < f.width; ++x) std::memcpy(reinterpret_cast<void*>(row + x * f.size), &f.value, f.size);
    }
  });
  node->grid = {f.size, static_cast<unsigned>(f.height), 0};
  return kOk;
}
#define FILL_TEXT "%zx %x %u %zux%zu", p->to, p->value, p->size, p->width, p->height
EXPORT int cuGraphAddMemsetNode(AFTER, const FillNode* p, void* context) {
  CALL(FILL_TEXT); GRAPH(graph);
  Node node;
  if (int rc = fill_node(*p, context, &node)) return rc;
  return put(out, g, node, before);
}
EXPORT int cuGraphAddEmptyNode(AFTER) { CALL("after=%zu", count); GRAPH(graph); return put(out, g, work(5, "nothing", nullptr), before); }
struct HostNode { void (*f)(void*); void* data; };
EXPORT int cuGraphAddHostNode(AFTER, const HostNode* p) {
  CALL("after=%zu", count); GRAPH(graph);
  const HostNode h = *p;
  Node node = work(3, "a function of the host", [h] { h.f(h.data); });
  node.host = node.driven = true;
  return put(out, g, node, before);
}
static int child_node(Graph* c, Node* out) {
  if (!graph_set.count(c)) return kInvalidValue;
  for (auto& n : c->nodes)
    if (n->type == 10 || n->type == 11 || n->type == 13) return kNotSupported;
  auto nodes = snapshot(*c);
  if (nodes.size() != c->nodes.size()) return kInvalidValue;
  Node& node = *out;
  node = work(4, "a child graph", [nodes] { run_inline(nodes); });  // in a body
  node.expand = [nodes](Stream* st, std::vector<TaskRef> after) {
    auto end = task("the end of a child graph", nullptr);
    end->after = start_nodes(st, nodes, after);
    end->after.insert(end->after.end(), after.begin(), after.end());
    start(st, end);
    return end;
  };
  for (auto& n : nodes) node.children.push_back(n->type);
  return kOk;
}
EXPORT int cuGraphAddChildGraphNode(AFTER, void* child) {
  CALL("after=%zu", count); GRAPH(graph);
  Node node;
  if (child == graph) return kInvalidValue;
  if (int rc = child_node(static_cast<Graph*>(child), &node)) return rc;
  for (auto& o : static_cast<Graph*>(child)->objects) g->objects.push_back(o);
  return put(out, g, node, before);
}
EXPORT int cuGraphAddDependencies(void* h, void** from, void** to, size_t n) {
  CALL("%zu", n);
  auto g = static_cast<Graph*>(h);
  if (!has_graph(g)) return kInvalidHandle;
  for (size_t i = 0; i < n; ++i) {
    Node *a = node_in(g, from[i]), *b = node_in(g, to[i]);
    if (!a || !b || a == b || std::find(b->after.begin(), b->after.end(), a) != b->after.end()) return kInvalidValue;
    b->after.push_back(a);
  }
  return kOk;
}
static int get_edges(void* h, void** from, void** to, size_t* n) {
  auto g = static_cast<Graph*>(h);
  if (!has_graph(g)) return kInvalidHandle;
  size_t i = 0;
  for (auto& b : g->nodes)
    for (auto a : b->after) {
      if (from && i < *n) { from[i] = a; to[i] = b.get(); }
      ++i;
    }
  *n = i;
  return kOk;
}

EXPORT int cuGraphGetEdges(void* h, void** from, void** to, size_t* n) { ALONE(h); CALL("%llx", num(h)); return get_edges(h, from, to, n); }

// ---- changes of executable graphs

#define PART(h)                                                              \
  auto x = static_cast<GraphExec*>(exec);                                    \
  if (!executables.count(x) || !graph_set.count(x->of)) return kInvalidHandle; \
  Node* part = part_of(x->names, x->nodes, h);                               \
  if (!part) return kInvalidValue
// Replaces the work of a part, and nothing else.
static int change(Node* part, const Node& by) {
  part->work = by.work;
  return kOk;
}
EXPORT int cuGraphExecMemcpyNodeSetParams(void* exec, void* h, const CopyNode* p, void* context) {
  ALONE(exec);
  CALL(COPY_TEXT); PART(h);
  Node node;
  if (part->type != 1) return kInvalidValue;
  if (int rc = copy_node(*p, context, &node)) return rc;
  if (part->grid.z && (part->grid.x != node.grid.x || part->grid.y != node.grid.y)) return kInvalidValue;
  return node.grid.z ? change(part, node) : kInvalidValue;
}
EXPORT int cuGraphExecMemsetNodeSetParams(void* exec, void* h, const FillNode* p, void* context) {
  ALONE(exec);
  CALL(FILL_TEXT); PART(h);
  Node node;
  if (part->type != 2) return kInvalidValue;
  if (int rc = fill_node(*p, context, &node)) return rc;
  if (part->grid.x && (part->grid.x != node.grid.x || node.grid.y != 1)) return kInvalidValue;
  return change(part, node);
}


EXPORT int cuGraphExecChildGraphNodeSetParams(void* exec, void* h, void* child) {
  ALONE(exec);
  CALL("%s", ""); PART(h);
  Node node;
  if (part->type != 4) return kInvalidValue;
  if (int rc = child_node(static_cast<Graph*>(child), &node)) return rc;
  if (part->children != node.children) return kGraphUpdate;
  part->expand = node.expand;
  for (auto& o : static_cast<Graph*>(child)->objects) x->objects.push_back(o);
  return change(part, node);
}
struct EdgeData { unsigned char from, to, type, reserved[5]; };
EXPORT int cuGraphAddDependencies_v2(void* h, void** from, void** to, const EdgeData* data, size_t n) {
  {
    std::string text;
    for (size_t i = 0; data && i < n; ++i) text += " " + std::to_string(data[i].from) + ":" + std::to_string(data[i].to) + ":" + std::to_string(data[i].type);
    LOCK;
    if (int rc = enter(__func__, "%zu%s", n, text.c_str())) return rc;
    for (size_t i = 0; data && i < n; ++i) {
      if (data[i].to || data[i].type > 1 || (data[i].type == 1) != (data[i].from != 0)) return kInvalidValue;
      if (data[i].type == 1 && (static_cast<Node*>(from[i])->type || static_cast<Node*>(to[i])->type)) return kInvalidValue;
    }
    auto g = static_cast<Graph*>(h);
    if (!has_graph(g)) return kInvalidHandle;
    for (size_t i = 0; i < n; ++i) node_in(g, to[i])->after.push_back(node_in(g, from[i]));
  }
  return kOk;
}
EXPORT int cuGraphGetEdges_v2(void* h, void** from, void** to, EdgeData* data, size_t* n) {
  ALONE(h);
  CALL("%llx", num(h));
  if (from && data) std::memset(data, 0, *n * sizeof *data);
  return get_edges(h, from, to, n);
}
EXPORT int cuFuncGetName(const char** name, void* h) {
  CALL("%s", ""); 
  if (!functions.count(static_cast<Function*>(h))) return kInvalidHandle;
  *name = static_cast<Function*>(h)->name.c_str();
  return kOk;
}
static void record_in_graph(Node* node, Event* ev) {
  node->expand = [ev](Stream* st, std::vector<TaskRef> after) {
    auto t = task("the record of an event", [ev] {
      if (!events.count(ev)) return;
      ev->recorded = true;
      ev->at = clock_ms += 1.5f;
    });
    t->after = after;
    if (events.count(ev)) {
      ev->record = t;
      ev->captured = false;
      ev->capture = nullptr;
    }
    start(st, t);
    return t;
  };
}
static void wait_in_graph(Node* node, Event* ev) {
  node->expand = [ev](Stream* st, std::vector<TaskRef> after) {
    auto t = task("a wait for an event", nullptr);
    t->after = after;
    if (events.count(ev) && ev->record && ev->record->state != Task::done) t->after.push_back(ev->record);
    start(st, t);
    return t;
  };
}
#define GRAPH_EVENT(e)                 \
  auto ev = static_cast<Event*>(e);    \
  if (!events.count(ev)) return kInvalidHandle
EXPORT int cuGraphAddEventRecordNode(AFTER, void* e) {
  CALL("after=%zu %llx", count, num(e)); GRAPH(graph); GRAPH_EVENT(e);
  Node node = work(7, "the record of an event", nullptr);
  record_in_graph(&node, ev);
  return put(out, g, node, before);
}
EXPORT int cuGraphAddEventWaitNode(AFTER, void* e) {
  CALL("after=%zu %llx", count, num(e)); GRAPH(graph); GRAPH_EVENT(e);
  Node node = work(6, "a wait for an event", nullptr);
  wait_in_graph(&node, ev);
  return put(out, g, node, before);
}
EXPORT int cuGraphExecEventRecordNodeSetEvent(void* exec, void* h, void* e) {
  ALONE(exec);
  CALL("%llx", num(e)); PART(h); GRAPH_EVENT(e);
  if (part->type != 7) return kInvalidValue;
  record_in_graph(part, ev);
  return kOk;
}
EXPORT int cuGraphExecEventWaitNodeSetEvent(void* exec, void* h, void* e) {
  ALONE(exec);
  CALL("%llx", num(e)); PART(h); GRAPH_EVENT(e);
  if (part->type != 6) return kInvalidValue;
  wait_in_graph(part, ev);
  return kOk;
}
struct AllocNode { PoolProps pool; const Access* access; size_t accesses, bytes; uintptr_t address; };
EXPORT int cuGraphAddMemAllocNode(AFTER, AllocNode* p) {
  CALL("after=%zu %d:%d %zu", count, p->pool.where, p->pool.id, p->bytes); GRAPH(graph);
  if (bodies.count(g)) return kNotSupported;
  for (auto c : p->pool.rest) if (c) return kInvalidValue;
  if (p->pool.allocation != 1 || p->pool.handles || p->pool.where != 1 || p->pool.id < 0 || p->pool.id >= device_count() || p->accesses) return kInvalidValue;
  Node node;
  if (int rc = graph_allocation(&p->address, p->bytes, p->pool.id, &node)) return rc;
  return put(out, g, node, before);
}
EXPORT int cuGraphAddMemFreeNode(AFTER, uintptr_t address) {
  CALL("after=%zu %zx", count, address); GRAPH(graph);
  auto b = blocks.find(address);
  if (bodies.count(g) || b == blocks.end() || !b->second.graph) return kInvalidValue;
  for (auto& n : g->nodes)
    if (n->type == 11 && n->memory == address) return kInvalidValue;
  return put(out, g, graph_free(address), before);
}

EXPORT int cuGraphConditionalHandleCreate(uint64_t* out, void* h, void* context, unsigned start, unsigned flags) {
  CALL("%u %u", start, flags);
  auto g = static_cast<Graph*>(h);
  if (!has_graph(g) || flags > 1) return kInvalidValue;
  if (context != &contexts[0] && context != &contexts[1]) return kInvalidContext;
  static uint64_t last = 0x10000;
  *out = ++last;
  conditions[*out] = Condition{start, start, flags == 1, false, static_cast<int>(static_cast<char*>(context) - contexts), g->serial};
  return kOk;
}
struct NodeParams {
  int type, reserved[3];
  uint64_t handle; int what; unsigned size; Graph** bodies; void* context;
  uint64_t rest[25], reserved2;
};
static_assert(sizeof(NodeParams) == 256, "CUgraphNodeParams");
EXPORT int cuGraphAddNode(AFTER, NodeParams* p) {
  CALL("after=%zu type=%d what=%d size=%u", count, p->type, p->what, p->size); GRAPH(graph);
  for (auto r : p->rest) if (r) return kInvalidValue;
  if (p->type != 13 || p->reserved[0] || p->reserved[1] || p->reserved[2] || p->reserved2) return kInvalidValue;
  auto c = conditions.find(p->handle);
  if (c == conditions.end() || c->second.used || p->context != &contexts[c->second.device]) return kInvalidValue;
  const unsigned most = p->what == 2 ? 1u << 16 : p->what == 0 && version() >= 12080 ? 2 : 1;
  if (p->what < 0 || p->what > (version() >= 12080 ? 2 : 1) || p->size < 1 || p->size > most) return kInvalidValue;
  c->second.used = true;
  auto state = std::make_shared<Conditional>(Conditional{p->handle, p->what, {}, {}, {}});
  for (unsigned i = 0; i < p->size; ++i) {
    state->graphs.emplace_back(new Graph, [](Graph* g) {
      bodies.erase(g);
      delete g;
    });
    state->handles.push_back(state->graphs.back().get());
    bodies.insert(state->handles.back());
  }
  Node node = work(13, "a conditional node", [state] {});
  node.memory = reinterpret_cast<uintptr_t>(&state->handles);
  std::weak_ptr<Conditional> bodies_now = state;  // a copy of the node is made while the node exists
  node.copied = [bodies_now](Node* n) {
    auto now = bodies_now.lock();
    if (!now) return;
    n->inside = std::make_shared<std::vector<Node::Body>>();
    for (auto& b : now->graphs) {
      n->inside->emplace_back();
      take(sorted(*b), &n->inside->back().names, &n->inside->back().nodes);
    }
    const Conditional mine{now->handle, now->type, {}, n->inside, {}};
    n->work = [mine] { run_conditional(mine); };
    n->copied = nullptr;
  };
  p->bodies = state->handles.data();
  return put(out, g, node, before);
}
EXPORT int cuGraphNodeSetEnabled(void* exec, void* h, unsigned on) {
  ALONE(exec);
  CALL("%u", on); PART(h);
  if (part->type > 2) return kInvalidValue;
  part->enabled = on != 0;
  return kOk;
}
EXPORT int cuGraphUpload(void* exec, void* s) {
  ALONE(exec);
  CALL("%llx %llx", num(exec), num(s)); CONTEXT(); STREAM(s);
  auto x = static_cast<GraphExec*>(exec);
  if (!executables.count(x) || x->device != dev) return kInvalidHandle;
  if (st->capture) return spoil(st->capture, kCaptureUnsupported);
  auto t = task("the upload of a graph", nullptr);
  if (x->last && x->last->state != Task::done) t->after.push_back(x->last);
  submit(st, t);
  return kOk;
}
EXPORT int cuUserObjectCreate(void** out, void* data, void (*destroy)(void*), unsigned references, unsigned flags) {
  CALL("%u %u", references, flags);
  if (flags != 1 || references == 0) return kInvalidValue;
  std::shared_ptr<UserObject> o(new UserObject{data, destroy});
  *out = o.get();
  user_objects[o.get()] = {o, references};
  return kOk;
}
static int give_up(void* object, unsigned n) {
  auto o = user_objects.find(object);
  if (o == user_objects.end() || o->second.second < n) return kInvalidValue;
  if ((o->second.second -= n) == 0) user_objects.erase(o);
  return kOk;
}
EXPORT int cuUserObjectRelease(void* object, unsigned n) { CALL("%u", n); return give_up(object, n); }
EXPORT int cuGraphRetainUserObject(void* h, void* object, unsigned n, unsigned flags) {
  CALL("%u %u", n, flags);
  auto g = static_cast<Graph*>(h);
  auto o = user_objects.find(object);
  if (!has_graph(g) || o == user_objects.end() || n != 1) return kInvalidValue;
  g->objects.push_back(o->second.first);
  return flags ? give_up(object, n) : kOk;
}
EXPORT int cuDeviceGetGraphMemAttribute(int d, int a, uint64_t* v) {
  CALL("%d", a); DEVICE(d);
  const GraphUse& u = graph_use[d];
  const size_t values[] = {u.used, u.used_high, u.reserved, u.reserved_high};
  if (a < 0 || a > 3) return kInvalidValue;
  *v = values[a];
  return kOk;
}
EXPORT int cuDeviceSetGraphMemAttribute(int d, int a, const uint64_t* v) {
  CALL("%d %llu", a, static_cast<unsigned long long>(*v)); DEVICE(d);
  if ((a != 1 && a != 3) || *v) return kInvalidValue;
  GraphUse& u = graph_use[d];
  if (a == 1) u.used_high = u.used;
  else u.reserved_high = u.reserved;
  return kOk;
}
EXPORT int cuDeviceGraphMemTrim(int d) { CALL("%d", d); DEVICE(d); graph_use[d].reserved = graph_use[d].used; return kOk; }

namespace {
const bool graph_kernels = [] {
  models["set_conditional"] = {{8, 4}, [](int dev, const Arguments& args, unsigned long long) { set_condition(dev, argument<uint64_t>(args, 0), argument<uint32_t>(args, 1)); }};
  models["count_down"] = {{8, 8}, [](int dev, const Arguments& args, unsigned long long) {
    auto n = argument<uint64_t>(args, 1);
    if (!use("kernel count_down", n, 4, dev, false) || !use("kernel count_down", n, 4, dev, true)) return;
    set_condition(dev, argument<uint64_t>(args, 0), --*reinterpret_cast<int32_t*>(n) > 0);
  }};
  models["add_to"] = {{8, 4}, [](int dev, const Arguments& args, unsigned long long) {
    auto n = argument<uint64_t>(args, 0);
    if (!use("kernel add_to", n, 4, dev, false) || !use("kernel add_to", n, 4, dev, true)) return;
    *reinterpret_cast<int32_t*>(n) += argument<int32_t>(args, 1);
  }};
  models["step"] = {{8, 4, 8}, [](int dev, const Arguments& args, unsigned long long threads) {
    auto x = argument<uint64_t>(args, 0);
    size_t n = std::min<unsigned long long>(argument<uint32_t>(args, 1), threads);
    if (!use("kernel step", x, 4 * std::max<size_t>(n, 1), dev, false) || !use("kernel step", x, 4 * n, dev, true)) return;
    for (size_t i = 0; i < n; ++i) reinterpret_cast<float*>(x)[i] += 1;
    set_condition(dev, argument<uint64_t>(args, 2), *reinterpret_cast<float*>(x) < 3);
  }};
  return true;
}();
}  // namespace
