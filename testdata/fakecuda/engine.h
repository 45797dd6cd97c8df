// Work of the fake driver: tasks, their order, streams, events and captures.
//
// A call that queues work makes a task. A task runs when something waits for it, the oldest first, and never before the
// tasks that it must come after. So a program that forgot to wait sees old memory, and one that freed memory too early
// uses poisoned memory. Clocks (state.h) find what a lucky order would hide.
#pragma once

#include "state.h"

namespace {

struct Task {
  std::string what;
  int device = 0;
  bool blocking = false, legacy = false;  // the kind of its stream
  unsigned stream = 0;                    // the number of its stream
  Time time;
  std::vector<std::shared_ptr<Task>> after;
  std::function<void()> work;
  bool host = false;            // a function of the host: it runs without the lock
  bool driven = false;          // it also runs if nothing waits for it, after a while
  enum { waiting, running, done } state = waiting;
  unsigned long long mark = 0;  // of the last set that it was in
  std::chrono::steady_clock::time_point since;
  std::list<std::shared_ptr<Task>>::iterator place;
};
using TaskRef = std::shared_ptr<Task>;

std::list<TaskRef> pending;  // in the order in which they were queued
std::condition_variable changed;

bool runnable(const Task& t) {
  if (t.state != Task::waiting) return false;
  for (auto& a : t.after)
    if (a->state != Task::done) return false;
  return true;
}

void run(TaskRef t) {
  t->state = Task::running;
  if (t->work && devices[t->device].sticky == 0) {
    if (t->host) {
      host_waited(t->time);  // the program may learn that the work before is done
      auto lock = held;
      lock->unlock();
      std::thread([t] { in_host_function = true; t->work(); }).join();  // functions of the host run on a thread of the driver
      lock->lock();
      held = lock;
    } else {
      now = &t->time;
      t->work();
      now = nullptr;
    }
  }
  t->state = Task::done;
  t->after.clear();
  t->work = nullptr;
  pending.erase(t->place);
  changed.notify_all();
}

// Puts a task and all that it waits for into a set: that of the tasks with the same mark.
unsigned long long marks;
void collect(const TaskRef& t, unsigned long long mark) {
  std::vector<Task*> left{t.get()};
  while (!left.empty()) {
    Task* next = left.back();
    left.pop_back();
    if (next->state == Task::done || next->mark == mark) continue;
    next->mark = mark;
    for (auto& a : next->after) left.push_back(a.get());
  }
}

// Runs a task and what it comes after.
void force(const TaskRef& target) {
  while (target && target->state != Task::done) {
    const auto needed = ++marks;
    collect(target, needed);
    TaskRef next;
    bool busy = false;
    for (auto& t : pending) {
      if (t->mark != needed) continue;
      busy |= t->state == Task::running;
      if (!next && runnable(*t)) next = t;
    }
    if (next) run(next);
    else if (busy) changed.wait_for(*held, std::chrono::milliseconds(1));
    else return;  // its device is lost
  }
  if (target) host_waited(target->time);
}

void force_all(int dev) {  // -1 for all devices
  for (;;) {
    TaskRef last;
    for (auto& t : pending)
      if (dev < 0 || t->device == dev) last = t;
    if (!last) break;
    force(last);
    if (last->state != Task::done) return;
  }
  for (int d = 0; d < 2; ++d)
    if (dev < 0 || d == dev) host_waited(device_time[d]);
}

// Runs the functions of the host that nobody waits for.
std::atomic<bool> exiting{false}, driving{false};
void drive() {
  while (!exiting) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    LOCK;
    auto now = std::chrono::steady_clock::now();
    const auto needed = ++marks;
    for (auto& t : pending)
      if (t->driven && t->state == Task::waiting && now - t->since > std::chrono::milliseconds(2)) collect(t, needed);
    std::vector<TaskRef> ready;
    for (auto& t : pending)
      if (t->mark == needed && runnable(*t)) ready.push_back(t);
    for (auto& t : ready)
      if (!exiting && runnable(*t)) run(t);
  }
  driving = false;
}

// ---- streams

struct Node;
struct Graph;
// Capture is a capture that has begun and not ended.
struct Capture {
  Stream* origin;
  int mode, thread;  // mode 0 global, 1 of the thread, 2 relaxed
  bool invalid = false;
  Graph* graph;
};
struct Stream {
  int device;
  unsigned flags;
  int priority;
  bool legacy = false;
  unsigned number = ++made;
  TaskRef last;
  std::shared_ptr<Capture> capture;
  std::vector<Node*> tail;  // what the next captured node comes after
  bool waits_for_default() const { return !legacy && !(flags & 1); }
};
struct Event {
  int device;
  unsigned flags;
  TaskRef record;      // the last one
  bool recorded = false;
  float at = 0;        // milliseconds
  bool captured = false;             // the last record was in a capture, so nothing recorded it for real
  std::shared_ptr<Capture> capture;  // that one, until it ends
  std::vector<Node*> tail;
};
struct Function { std::string name; int device; std::vector<size_t> sizes; int shared = 0, dynamic = 0, threads = 1024; };
struct Dim { unsigned x, y, z; };

// Node is a part of a graph. Its work is queued once for each launch.
struct Node {
  std::string what;
  std::function<void()> work;
  bool host = false, driven = false;
  std::vector<Node*> after;
};
using NodeRef = std::shared_ptr<Node>;
struct Graph { std::vector<NodeRef> nodes; };

std::set<Stream*> streams;
std::set<Event*> events;
std::set<Function*> functions;
std::set<Graph*> graph_set;
Stream default_streams[2] = {{0, 0, 0, true}, {1, 0, 0, true}};

// The stream of a handle on a device: 0 and 1 are the legacy default stream, 2 is the default stream of the thread.
Stream* stream_of(void* h, int dev) {
  if (num(h) <= 1) return &default_streams[dev];
  if (num(h) == 2) {
    static std::map<std::pair<int, int>, Stream> own;
    auto at = own.emplace(std::make_pair(thread_number, dev), Stream{dev, 0, 0});
    return &at.first->second;
  }
  auto st = static_cast<Stream*>(h);
  return streams.count(st) && st->device == dev ? st : nullptr;
}

#define STREAM(h)                                            \
  Stream* st = stream_of(h, dev);                            \
  if (!st) return kInvalidHandle

TaskRef task(std::string what, std::function<void()> work) {
  auto t = std::make_shared<Task>();
  t->what = std::move(what);
  t->work = std::move(work);
  return t;
}

// Adds a task that has its predecessors.
void start(Stream* st, TaskRef t) {
  bool next = last_of[st->number] == 0;
  for (auto& a : t->after) {
    t->time.join(a->time);
    next |= a->time.line == st->number && a->time.tick == last_of[st->number];
  }
  if (st->legacy) t->time.join(blocking_time[st->device]);
  if (st->waits_for_default() && default_streams[st->device].last) t->time.join(default_streams[st->device].last->time);
  t->time.begin(next ? st->number : ++made, st->number);
  device_time[st->device].join(t->time);
  if (st->waits_for_default()) blocking_time[st->device].join(t->time);
  t->device = st->device;
  t->blocking = st->waits_for_default();
  t->legacy = st->legacy;
  t->stream = st->number;
  t->since = std::chrono::steady_clock::now();
  t->place = pending.insert(pending.end(), t);
  if (t->driven) {
    if (!driving.exchange(true)) std::thread(drive).detach();
  }
}

// The queue of a real driver has an end too. How much work fits into the queue of one stream: 0 is any number.
std::atomic<size_t> queue_length{0};

// Blocks the calling thread until the work of a stream fits into its queue. Other threads may call the driver
// meanwhile. The stream may end then, so it is known by its number.
void fit(unsigned stream) {
  for (size_t most = queue_length; most > 0;) {
    TaskRef first;
    size_t n = 0;
    for (auto& t : pending)
      if (t->stream == stream && n++ == 0) first = t;
    if (n <= most) return;
    force(first);
    if (first->state != Task::done) return;  // its device is lost
  }
}

// Queues a task behind the work of a stream, and behind that of the default stream as the kinds of streams ask for.
void submit(Stream* st, TaskRef t) {
  if (st->last) t->after.push_back(st->last);
  for (auto p = pending.rbegin(); p != pending.rend(); ++p) {
    const Task& other = **p;
    if (other.device != st->device) continue;
    if (st->legacy && other.blocking) t->after.push_back(*p);
    if ((st->legacy || st->waits_for_default()) && other.legacy) {
      t->after.push_back(*p);
      break;  // that one comes after the others
    }
  }
  st->last = t;
  start(st, t);
  while (pending.size() > 1024) {  // all streams together
    TaskRef first = pending.front();
    force(first);
    if (first->state != Task::done) break;
  }
  fit(t->stream);
}

// ---- captures

std::set<std::shared_ptr<Capture>> captures;

// Ends a capture with an error, which the end of the capture reports.
int spoil(const std::shared_ptr<Capture>& c, int code) {
  c->invalid = true;
  return code;
}

// Whether a stream of a device is in a capture, which events may have led there from another device.
bool on_device(const std::shared_ptr<Capture>& c, int dev) {
  return std::any_of(streams.begin(), streams.end(), [&](Stream* s) { return s->capture == c && s->device == dev; });
}

thread_local int capture_mode = 0;  // cuThreadExchangeStreamCaptureMode

// The error of a call that is not allowed while this thread captures, which spoils the capture.
int unsafe() {
  int rc = kOk;
  if (capture_mode == 2) return rc;
  for (auto& c : captures)
    if (c->mode != 2 && (c->thread == thread_number || (c->mode == 0 && capture_mode == 0))) rc = spoil(c, kCaptureUnsupported);
  return rc;
}
#define UNSAFE() \
  if (int rc = unsafe()) return rc

// The error of using the default stream while a stream that waits for it is captured.
int implicit(const Stream* st) {
  int rc = kOk;
  if (!st->legacy) return rc;
  for (auto s : streams)
    if (s->capture && s->device == st->device && s->waits_for_default()) rc = spoil(s->capture, kCaptureImplicit);
  return rc;
}

// The error of waiting for a whole device of which a stream is captured.
int broad(int dev) {
  int rc = kOk;
  for (auto& c : captures)
    if (on_device(c, dev)) rc = spoil(c, kCaptureUnsupported);
  return rc;
}

Node* add(Graph* g, Node node, std::vector<Node*> after) {
  node.after = std::move(after);
  g->nodes.push_back(std::make_shared<Node>(std::move(node)));
  return g->nodes.back().get();
}

TaskRef task_of(const Node& n) {
  auto t = task(n.what, n.work);
  t->host = n.host;
  t->driven = n.driven;
  return t;
}

// Queues work on a stream, or records it as a part of a graph.
int queue(Stream* st, Node node) {
  if (int rc = implicit(st)) return rc;
  if (!st->capture) {
    submit(st, task_of(node));
    return kOk;
  }
  if (st->capture->invalid) return kCaptureInvalidated;
  st->tail = {add(st->capture->graph, std::move(node), st->tail)};
  return kOk;
}
Node work(std::string what, std::function<void()> f) {
  Node n{};
  n.what = std::move(what);
  n.work = std::move(f);
  return n;
}

// Waits for a stream; the error of doing so, or of the work.
int wait(Stream* st) {
  if (st->capture) return spoil(st->capture, kCaptureUnsupported);
  if (int rc = implicit(st)) return rc;
  if (st->legacy) {  // it comes after the streams that wait for it
    auto mark = task("a wait", nullptr);
    submit(st, mark);
  }
  force(st->last);
  return devices[st->device].sticky;
}

// ---- what work does

void copy(const std::string& who, uintptr_t dst, uintptr_t src, size_t n, bool from_host, bool to_host) {
  if (!from_host && !use(who, src, n, -1, false)) return;
  if (!to_host && !use(who, dst, n, -1, true)) return;
  std::memmove(reinterpret_cast<void*>(dst), reinterpret_cast<void*>(src), n);
}

template <class T>
int fill(const char* who, uintptr_t p, T v, size_t n, Stream* st) {
  if (p % sizeof(T) || !inside(p, n * sizeof(T))) return kInvalidValue;
  std::string name = who;
  return queue(st, work(name, [=] {
    if (!use(name, p, n * sizeof(T), -1, true)) return;
    for (size_t i = 0; i < n; ++i) reinterpret_cast<T*>(p)[i] = v;
  }));
}

}  // namespace
