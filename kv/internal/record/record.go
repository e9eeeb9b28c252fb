// SPDX-License-Identifier: Apache-2.0

// Package record runs a check with failures that are expected.
package record

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// recorder is a testing.TB that notes failures instead of failing.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	skipped  bool
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, text)
}

func (r *recorder) Error(args ...any) { r.note(fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (r *recorder) Skip(...any) {
	r.skipped = true
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

// Failures runs a check and returns its failures.
func Failures(t *testing.T, check func(tb testing.TB)) []string {
	r := &recorder{TB: t}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		defer func() {
			for _, f := range slices.Backward(r.cleanups) {
				f()
			}
		}()
		check(r)
	}()
	<-finished
	return r.failures
}
