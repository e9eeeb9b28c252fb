// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// gathering collects the pairs of one batch. Those of the base are only lent to
// it: it copies them to room that is used again, and in the end, when their size
// is known, to memory of their own.
type gathering struct {
	rows, bytes int // what the limits leave
	pairs       []gathered
	room        []byte
}

// gathered is a pair: of the window, which keeps its memory, or, where key is
// nil, the next two strings in the room.
type gathered struct {
	kv.KeyValue
	keySize, valueSize int
}

var gatherings = sync.Pool{New: func() any { return new(gathering) }}

// mostKeptRoom is how much room is worth keeping for the next batch.
const mostKeptRoom = 256 << 10

// gather begins to collect, within the limits of a server.
func gather(l limits) *gathering {
	g := gatherings.Get().(*gathering)
	g.rows, g.bytes = l.rows, l.bytes
	if g.bytes != unlimited {
		g.bytes = min(g.bytes, replyBytes)
	}
	return g
}

// keep takes a pair that stays as it is, and reports whether the batch is full.
func (g *gathering) keep(key, value []byte) (full bool) {
	g.pairs = append(g.pairs, gathered{KeyValue: kv.KeyValue{Key: key, Value: value}})
	return g.count(len(key) + len(value))
}

// copy takes a pair that is only lent, and reports whether the batch is full.
func (g *gathering) copy(key, value []byte) (full bool) {
	g.pairs = append(g.pairs, gathered{keySize: len(key), valueSize: len(value)})
	g.room = append(append(g.room, key...), 0) // which keyAfter can take in
	g.room = append(append(g.room, value...), 0)
	return g.count(len(key) + len(value))
}

func (g *gathering) count(size int) (full bool) {
	g.rows--
	if g.bytes == unlimited {
		return g.rows == 0
	}
	g.bytes -= size + serverPairCost
	return g.rows == 0 || g.bytes <= 0
}

// lastKey returns the key that was copied last, in memory that is used again.
func (g *gathering) lastKey() []byte {
	last := &g.pairs[len(g.pairs)-1]
	end := len(g.room) - last.valueSize - 2
	return g.room[end-last.keySize : end]
}

// finish returns the pairs. The gathering must not be used again.
func (g *gathering) finish() []kv.KeyValue {
	defer g.release()
	if len(g.pairs) == 0 {
		return nil
	}
	all, room := make([]kv.KeyValue, len(g.pairs)), bytes.Clone(g.room)
	for i := range g.pairs {
		p := &g.pairs[i]
		if p.Key != nil {
			all[i] = p.KeyValue
			continue
		}
		k, v := p.keySize, p.keySize+1+p.valueSize
		all[i] = kv.KeyValue{Key: room[: k : k+1], Value: room[k+1 : v : v+1]}
		room = room[v+1:]
	}
	return all
}

func (g *gathering) release() {
	if cap(g.room) > mostKeptRoom {
		g.room = nil
	}
	clear(g.pairs)
	g.pairs, g.room = g.pairs[:0], g.room[:0]
	gatherings.Put(g)
}
