// Streams, events and captures of the fake driver.
#pragma once

#include "engine.h"

EXPORT int cuStreamCreateWithPriority(void** s, unsigned flags, int priority) {
  CALL("%u %d", flags, priority); CONTEXT();
  auto st = new Stream{dev, flags, priority};
  streams.insert(st);
  *s = st;
  return kOk;
}
const int kGreatest[2] = {-5, -1};  // priorities
EXPORT int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  CALL("%s", ""); CONTEXT();
  if (least) *least = 0;
  if (greatest) *greatest = kGreatest[dev];
  return kOk;
}
EXPORT int cuStreamGetPriority(void* s, int* priority) {
  CALL("%llx", num(s)); CONTEXT(); STREAM(s);
  *priority = std::max(kGreatest[dev], std::min(st->priority, 0));
  return kOk;
}
EXPORT int cuStreamGetFlags(void* s, unsigned* flags) { CALL("%llx", num(s)); CONTEXT(); STREAM(s); *flags = st->flags; return kOk; }
// Ends a capture, whose streams and events go on without it.
void drop(const std::shared_ptr<Capture> c) {
  for (auto other : streams)
    if (other->capture == c) { other->capture = nullptr; other->tail.clear(); }
  for (auto e : events)
    if (e->capture == c) { e->capture = nullptr; e->tail.clear(); }
  c->origin->capture = nullptr;
  c->origin->tail.clear();
  captures.erase(c);
}
// What is queued still runs. A stream may be destroyed from any context.
EXPORT int cuStreamDestroy_v2(void* s) {
  CALL("%llx", num(s));
  auto st = static_cast<Stream*>(s);
  if (!streams.erase(st)) return kInvalidHandle;
  if (st->capture && st->capture->origin == st) drop(st->capture);
  else if (st->capture) st->capture->invalid = true;
  delete st;
  return kOk;
}
EXPORT int cuStreamSynchronize(void* s) { CALL("%llx", num(s)); CONTEXT(); STREAM(s); return wait(st); }

// Whether work is done. Asking runs a part of it, so that a loop of questions ends.
unsigned asked = 0;
int ask(const TaskRef& t, int dev) {
  if (!t) return devices[dev].sticky;
  if (t->state != Task::done && ++asked % 3 == 0) {
    const auto needed = ++marks;
    collect(t, needed);
    for (auto p : std::vector<TaskRef>(pending.begin(), pending.end()))
      if (p->mark == needed && !p->host && runnable(*p)) { run(p); break; }  // a function of the host may wait for who asks
  }
  if (t->state != Task::done) return kNotReady;
  host_waited(t->time);
  return devices[dev].sticky;
}
EXPORT int cuStreamQuery(void* s) {
  CALL("%llx", num(s)); CONTEXT(); STREAM(s);
  if (st->capture) return spoil(st->capture, kCaptureUnsupported);
  if (int rc = implicit(st)) return rc;
  TaskRef last = st->last;
  if (st->legacy)
    for (auto& t : pending)
      if (t->device == dev && (t->blocking || t->legacy)) last = t;
  return ask(last, dev);
}

// Lets the capture of an event go on in a stream.
int join(Stream* st, Event* ev) {
  if (st->capture && st->capture != ev->capture) {
    st->capture->invalid = true;
    return spoil(ev->capture, kCaptureMerge);
  }
  if (!st->capture && st->legacy) return spoil(ev->capture, kCaptureImplicit);
  st->capture = ev->capture;
  for (auto n : ev->tail)
    if (std::find(st->tail.begin(), st->tail.end(), n) == st->tail.end()) st->tail.push_back(n);
  return kOk;
}
EXPORT int cuStreamWaitEvent(void* s, void* e, unsigned flags) {
  CALL("%llx %llx %u", num(s), num(e), flags); CONTEXT(); STREAM(s);
  auto ev = static_cast<Event*>(e);
  if (!events.count(ev)) return kInvalidHandle;
  if (ev->capture && captures.count(ev->capture)) return ev->capture->invalid ? kCaptureInvalidated : join(st, ev);
  if (st->capture) return ev->recorded || ev->record ? spoil(st->capture, kCaptureIsolation) : kOk;
  if (int rc = implicit(st)) return rc;
  auto mark = task("a wait for an event", nullptr);
  if (ev->record) mark->after.push_back(ev->record);
  submit(st, mark);
  return kOk;
}

EXPORT int cuStreamBeginCapture_v2(void* s, int mode) {
  CALL("%llx %d", num(s), mode); CONTEXT(); STREAM(s);
  if (st->legacy || st->capture) return st->capture ? kIllegalState : kCaptureUnsupported;
  st->capture = std::make_shared<Capture>(Capture{st, mode, thread_number, false, new Graph});
  st->tail.clear();
  captures.insert(st->capture);
  return kOk;
}
bool reaches_all(const std::vector<Node*>& from, const std::vector<Node*>& all) {
  std::set<Node*> seen;
  std::vector<Node*> left = from;
  while (!left.empty()) {
    Node* n = left.back();
    left.pop_back();
    if (!seen.insert(n).second) continue;
    left.insert(left.end(), n->after.begin(), n->after.end());
  }
  return std::all_of(all.begin(), all.end(), [&](Node* n) { return seen.count(n) > 0; });
}
EXPORT int cuStreamEndCapture(void* s, void** out) {
  LOCK;
  int asked = enter(__func__, "%llx", num(s));
  CONTEXT(); STREAM(s);
  auto c = st->capture;
  *out = nullptr;
  if (asked && c && c->origin == st) {  // an error ends the capture too
    drop(c);
    delete c->graph;
  }
  if (asked) return asked;
  if (!c) return kIllegalState;
  if (c->origin != st) return spoil(c, kCaptureUnmatched);
  if (c->mode != 2 && c->thread != thread_number) return spoil(c, kCaptureWrongThread);
  int rc = c->invalid ? kCaptureInvalidated : kOk;
  for (auto other : streams)
    if (!rc && other != st && other->capture == c && !reaches_all(st->tail, other->tail)) rc = kCaptureUnjoined;
  drop(c);
  if (rc) {
    delete c->graph;
    return rc;
  }
  graph_set.insert(c->graph);
  *out = c->graph;
  return kOk;
}
EXPORT int cuStreamIsCapturing(void* s, int* status) {
  CALL("%llx", num(s)); CONTEXT(); STREAM(s);
  if (int rc = implicit(st)) return rc;
  *status = !st->capture ? 0 : st->capture->invalid ? 2 : 1;
  return kOk;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
  CALL("%d", *mode);
  std::swap(*mode, capture_mode);
  return kOk;
}
EXPORT int cuLaunchHostFunc(void* s, void (*f)(void*), void* data) {
  CALL("%llx", num(s)); CONTEXT(); STREAM(s);
  Node node = work("a function of the host", [=] { f(data); });
  node.host = node.driven = true;
  return queue(st, node);
}

EXPORT int cuEventCreate(void** e, unsigned flags) {
  CALL("%u", flags); CONTEXT();
  if (flags & ~3u) return kInvalidValue;
  auto ev = new Event{dev, flags};
  events.insert(ev);
  *e = ev;
  return kOk;
}

EXPORT int cuEventDestroy_v2(void* e) { CALL("%llx", num(e)); if (!events.erase(static_cast<Event*>(e))) return kInvalidHandle; delete static_cast<Event*>(e); return kOk; }
EXPORT int cuEventRecord(void* e, void* s) {
  CALL("%llx %llx", num(e), num(s)); CONTEXT(); STREAM(s);
  auto ev = static_cast<Event*>(e);
  if (!events.count(ev) || ev->device != dev) return kInvalidHandle;
  if (int rc = implicit(st)) return rc;
  if (st->capture) {
    if (st->capture->invalid) return kCaptureInvalidated;
    ev->captured = true;
    ev->capture = st->capture;
    ev->tail = st->tail;
    return kOk;
  }
  ev->captured = false;
  ev->capture = nullptr;
  auto t = task("the record of an event", [ev] {
    if (!events.count(ev)) return;
    ev->recorded = true;
    ev->at = clock_ms += 1.5f;
  });
  ev->record = t;
  submit(st, t);
  return kOk;
}
// The error of looking at an event that was last recorded in a capture. If that goes on, it is spoiled.
int captured(Event* ev) {
  if (!ev->captured) return kOk;
  return ev->capture ? spoil(ev->capture, kCapturedEvent) : int(kCapturedEvent);
}
#define EVENT(e)                                              \
  auto ev = static_cast<Event*>(e);                           \
  if (!events.count(ev)) return kInvalidHandle;               \
  if (int rc = captured(ev)) return rc
EXPORT int cuEventSynchronize(void* e) {
  CALL("%llx", num(e)); EVENT(e);
  int dev = ev->device;
  force(ev->record);
  return devices[dev].sticky;
}
EXPORT int cuEventQuery(void* e) {
  CALL("%llx", num(e)); EVENT(e); UNSAFE();
  return ask(ev->record, ev->device);
}
EXPORT int cuEventElapsedTime(float* ms, void* a, void* b) {
  CALL("%llx %llx", num(a), num(b));
  auto x = static_cast<Event*>(a), y = static_cast<Event*>(b);
  if (!events.count(x) || !events.count(y) || x->flags & 2 || y->flags & 2) return kInvalidHandle;
  if (int rc = captured(x)) return rc;
  if (int rc = captured(y)) return rc;
  if (!x->record || !y->record) return kInvalidHandle;
  if (x->record->state != Task::done || y->record->state != Task::done) return kNotReady;
  *ms = y->at - x->at;
  return kOk;
}
