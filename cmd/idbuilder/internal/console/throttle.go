// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	loginsAtOnce = 10              // of an address
	loginEvery   = 6 * time.Second // after those
	maxAddresses = 10_000
)

// throttle limits the failed attempts to log in of each network address.
type throttle struct {
	mu     sync.Mutex
	byAddr map[netip.Prefix]*rate.Limiter
	others *rate.Limiter // of addresses that have no room in the map
}

// countAttempt counts an attempt of an address. If there were too many it returns how long to
// wait.
func (t *throttle) countAttempt(remote string, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.limiterOf(networkOf(remote), now)
	if l.AllowN(now, 1) {
		return 0
	}
	return max(time.Second, time.Duration((1-l.TokensAt(now))*float64(loginEvery)))
}

func (t *throttle) limiterOf(addr netip.Prefix, now time.Time) *rate.Limiter {
	if t.byAddr == nil {
		t.byAddr, t.others = map[netip.Prefix]*rate.Limiter{}, newLimiter()
	}
	if l := t.byAddr[addr]; l != nil {
		return l
	}
	if len(t.byAddr) >= maxAddresses {
		t.forgetIdle(now)
	}
	if len(t.byAddr) >= maxAddresses {
		return t.others
	}
	l := newLimiter()
	t.byAddr[addr] = l
	return l
}

// forgetIdle forgets addresses that may make as many attempts as a new one.
func (t *throttle) forgetIdle(now time.Time) {
	for addr, l := range t.byAddr {
		if l.TokensAt(now) >= loginsAtOnce {
			delete(t.byAddr, addr)
		}
	}
}

func newLimiter() *rate.Limiter { return rate.NewLimiter(rate.Every(loginEvery), loginsAtOnce) }

// networkOf returns the IPv4 address, or the IPv6 network of 64 bits, which usually belongs
// to one user.
func networkOf(remote string) netip.Prefix {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip := a.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits)
	return p
}
