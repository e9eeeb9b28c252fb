// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"sync"
	"time"
)

// times are how long requests took, by name. It is safe for concurrent use.
type times struct {
	mu      sync.Mutex
	byName  map[string][]time.Duration
	retries int // requests that were answered with 503
}

func (t *times) add(name string, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byName[name] = append(t.byName[name], d)
}

func (t *times) retry() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retries++
}

// figures returns the figures of each kind of request.
func (t *times) figures() map[string]Figures {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]Figures{}
	for name, ds := range t.byName {
		slices.Sort(ds)
		all[name] = Figures{len(ds), ds[len(ds)/2], ds[len(ds)*99/100]}
	}
	return all
}
