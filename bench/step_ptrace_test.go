//go:build linux && amd64

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// looks is a peer that waits for another thread awake, before its first breakpoint or after it.
const looks = `
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

static volatile int turns;

static void* other(void* unused) {
  for (;;) turns++;
}

static void meet(void) {
  for (int n = turns; turns == n;) {
  }
}

int main(void) {
  char item[100];
  pthread_t thread;
  if (pthread_create(&thread, NULL, other, NULL) != 0) return 1;
  setvbuf(stdout, NULL, _IONBF, 0);
  printf("before inside alone\n");
  while (fgets(item, sizeof item, stdin) != NULL) {
    printf("%ld\n", syscall(SYS_gettid));
    if (getchar() == EOF) break;
    if (strncmp(item, "before", 6) == 0) meet();
    __asm__ volatile("int3");
    if (strncmp(item, "inside", 6) == 0) meet();
    __asm__ volatile("int3");
    printf("counted\n");
  }
}
`

// TestStep_waits: a thread that waits awake, for one that stands still, is not waited for until the end of time.
func TestStep_waits(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a compiler")
	}
	program := filepath.Join(t.TempDir(), "looks")
	source := program + ".c"
	if err := os.WriteFile(source, []byte(looks), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t.Context(), "", nil, compilerName(), "-x", "c", "-O1", "-pthread", "-o", program, source); err != nil {
		t.Fatal(err)
	}
	defer func(d time.Duration, n int) { idle, mostSteps = d, n }(idle, mostSteps)
	idle, mostSteps = time.Millisecond, 10_000
	p := &peer{name: "looks", args: []string{program, ""}}
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	for _, item := range []string{"before", "inside"} {
		_, err := p.once(item, 1)
		if err != nil && strings.Contains(err.Error(), refused) {
			t.Skip(refused)
		}
		if !errors.Is(err, errWaits) {
			t.Errorf("%s: %v, want %v", item, err, errWaits)
		}
	}
	idle = time.Minute // nothing but the breakpoints ends this one
	if at, err := p.once("alone", 1); err != nil || len(at) == 0 || len(at) > 100 {
		t.Errorf("afterwards: %d instructions, %v", len(at), err)
	}
}
