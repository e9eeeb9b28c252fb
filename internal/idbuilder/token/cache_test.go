// SPDX-License-Identifier: Apache-2.0

package token

import (
	"encoding/binary"
	"testing"
	"time"
)

// TestFullCache: a full cache forgets a few tokens, not all, to remember new ones.
func TestFullCache(t *testing.T) {
	var c cache
	var h hash
	for i := range maxSeen + 1 {
		binary.BigEndian.PutUint64(h[:], uint64(i))
		c.put(h, cachedToken{revision: int64(i)})
	}
	if n := len(c.entries); n > maxSeen || n < maxSeen*9/10 {
		t.Errorf("%d tokens are remembered, allowed are %d", n, maxSeen)
	}
	if got, ok := c.get(h); !ok || got.revision != maxSeen {
		t.Error("the latest token is not remembered")
	}
}

// TestFresh: a token is read again with a new revision, after a minute, and if the clock
// was set back.
func TestFresh(t *testing.T) {
	read := time.Unix(1_000_000, 0)
	c := cachedToken{revision: 7, read: read}
	for now, want := range map[time.Time]bool{
		read: true, read.Add(maxAge - 1): true, read.Add(maxAge): false, read.Add(-1): false,
	} {
		if c.isFresh(7, now) != want || c.isFresh(8, now) || c.isFresh(6, now) {
			t.Errorf("at %v: fresh is %v, or for another revision", now, !want)
		}
	}
}
