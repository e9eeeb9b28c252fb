// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// gathering collects the pairs of one batch. Those of the base are only lent to
// it: it copies them to memory that the pairs of a batch share.
type gathering struct {
	rows, bytes int // what the limits leave
	pairs       []kv.KeyValue
	room        []byte  // what is left of the memory for copies
	spent       int     // bytes of it used, for good
	rowBytes    int     // how large a row of the batch before was
	left        *limits // the client's, which count the pairs too; nil: none do
	front       int     // how many of pairs were there before
	cost        int     // what a pair counts beside its bytes
}

// lastBatch is how large the last batch was, in rows and in bytes: the next one
// may be alike, and then needs memory only once.
type lastBatch struct{ rows, bytes atomic.Int32 }

// The least and the most memory for copies that is asked for at a time.
const leastRoom, mostRoom = 512, 64 << 10

// gather begins to collect, within the limits of a server, behind the pairs of
// front, whose memory it may take over.
func (l *limits) gather(last *lastBatch, front []kv.KeyValue) gathering {
	g := gathering{rows: l.rows, bytes: l.bytes, front: len(front), cost: serverPairCost}
	if g.bytes != unlimited {
		g.bytes = min(g.bytes, replyBytes)
	}
	g.rowBytes = int(last.bytes.Load())/max(int(last.rows.Load()), 1) + 1
	if g.pairs = front; front == nil {
		g.pairs = make([]kv.KeyValue, 0, l.likely(last))
	} else {
		g.pairs = slices.Grow(front, l.likely(last))
	}
	return g
}

// likely returns how many pairs will be collected if there are as many as in the
// last batch.
func (l *limits) likely(last *lastBatch) int {
	rows := int(last.rows.Load())
	if l.rows != unlimited {
		rows = min(rows, l.rows)
	}
	return max(rows, 1)
}

// keep takes a pair that stays as it is, and reports whether the batch is full.
func (g *gathering) keep(key, value []byte) (full bool) {
	g.pairs = append(g.pairs, kv.KeyValue{Key: slices.Clip(key), Value: slices.Clip(value)})
	return g.count(len(key) + len(value))
}

// count counts a pair of so many bytes, and reports whether the batch is full.
func (g *gathering) count(size int) (full bool) {
	if g.left != nil {
		g.left.take(size)
	}
	if g.rows != unlimited {
		g.rows--
	}
	if g.bytes != unlimited {
		g.bytes = max(g.bytes-size-g.cost, 0)
	}
	return g.rows == 0 || g.bytes == 0
}

// copy takes a pair that is only lent, and reports whether the batch is full.
func (g *gathering) copy(key, value []byte) (full bool) {
	k, v := len(key), len(key)+len(value)
	if v >= len(g.room) { // some is left, so that an empty value is not nil
		g.grow(v + 1)
	}
	room := g.room
	g.room = room[v:]
	g.spent += v
	copy(room, key)
	copy(room[k:], value)
	return g.keep(room[:k], room[k:v])
}

// grow makes room for a pair of so many bytes, and for those that are likely to
// follow.
func (g *gathering) grow(size int) {
	likely := g.rowBytes * (cap(g.pairs) - len(g.pairs))
	if g.spent > 0 {
		likely = g.spent // so it was not like the last batch
	}
	g.room = make([]byte, max(size, min(max(likely, leastRoom), mostRoom)))
}

// finish returns the pairs, those of front as well.
func (g *gathering) finish(last *lastBatch) []kv.KeyValue {
	if rows, bytes := int32(len(g.pairs)-g.front), int32(g.spent); rows != last.rows.Load() || bytes != last.bytes.Load() {
		last.rows.Store(rows)
		last.bytes.Store(bytes)
	}
	return trim(g.pairs)
}

// trim returns pairs that hold no more memory than twice what they need.
func trim(pairs []kv.KeyValue) []kv.KeyValue {
	switch {
	case len(pairs) == 0:
		return nil
	case len(pairs) < cap(pairs)/2:
		return slices.Clone(pairs)
	}
	return pairs
}
