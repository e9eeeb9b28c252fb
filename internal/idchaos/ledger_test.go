// SPDX-License-Identifier: Apache-2.0

package idchaos

import (
	"fmt"
	"sync"
	"time"
)

// ledger has all IDs that were given.
type ledger struct {
	mu     sync.Mutex
	bits   map[string]map[int64]*[pageBits / 64]uint64 // numbers, by key and page
	texts  map[string]struct{}
	leases map[int64][]grantedLease // by worker id of snowflake
	n      int64
	faults []string
}

const pageBits = 1 << 15

// grantedLease is the time for which a client has a worker id.
type grantedLease struct {
	key             string
	starts, expires int64
}

func newLedger() *ledger {
	return &ledger{bits: map[string]map[int64]*[pageBits / 64]uint64{}, texts: map[string]struct{}{}, leases: map[int64][]grantedLease{}}
}

func (l *ledger) addFault(format string, args ...any) {
	if len(l.faults) < 20 {
		l.faults = append(l.faults, fmt.Sprintf(format, args...))
	}
}

// addNumbers records numbers of a key.
func (l *ledger) addNumbers(key string, numbers []int64, from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pages := l.bits[key]
	if pages == nil {
		pages = map[int64]*[pageBits / 64]uint64{}
		l.bits[key] = pages
	}
	for _, n := range numbers {
		page, bit := n>>15, uint64(n)&(pageBits-1)
		p := pages[page]
		if p == nil {
			p = new([pageBits / 64]uint64)
			pages[page] = p
		}
		if p[bit/64]&(1<<(bit%64)) != 0 {
			l.addFault("key %s: the number %d came twice, the second time from %s", key, n, from)
		}
		p[bit/64] |= 1 << (bit % 64)
	}
	l.n += int64(len(numbers))
}

// addTexts records formatted IDs.
func (l *ledger) addTexts(ids []string, from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if _, twice := l.texts[id]; twice {
			l.addFault("the ID %s came twice, the second time from %s", id, from)
		}
		l.texts[id] = struct{}{}
	}
	l.n += int64(len(ids))
}

// addLease records a lease of a worker id, and compares it with those of other clients.
func (l *ledger) addLease(worker int64, key string, starts, expires int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.leases[worker] {
		if other.key != key && starts < other.expires && other.starts < expires {
			l.addFault("the worker id %d is leased from %s to %s, and to another client from %s to %s", worker,
				clock(starts), clock(expires), clock(other.starts), clock(other.expires))
		}
	}
	l.leases[worker] = append(l.leases[worker], grantedLease{key, starts, expires})
}

func clock(milli int64) string { return time.UnixMilli(milli).Format("15:04:05.000") }

// order checks that the numbers of a worker's key increase from answer to answer.
type order struct {
	mu   sync.Mutex
	last map[string]int64 // by key: the greatest number of an answer that has come
}

// before returns the greatest number of a key when a request begins.
func (o *order) before(key string) (int64, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, ok := o.last[key]
	return n, ok
}

// after records an answer.
func (o *order) after(key string, n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last, ok := o.last[key]; !ok || n > last {
		o.last[key] = n
	}
}
