// SPDX-License-Identifier: Apache-2.0

package host

import (
	"hash/maphash"
	"sync"
)

// activations is the table of the activations of one kind in one session: a hash table of
// lists that are linked through the activations. A map would take 30 bytes more for each of a
// million activations. Each shard has its own lock and grows by itself.
type activations struct {
	kind    *kind
	session *session
	seed    maphash.Seed
	shards  [1 << shardBits]shard
}

const shardBits = 6

// shard is a part of the table.
type shard struct {
	mu      sync.RWMutex
	buckets []*Activation // a power of two of them, at least as many as activations
	len     int
}

func newActivations(k *kind, s *session) *activations {
	return &activations{kind: k, session: s, seed: maphash.MakeSeed()}
}

// shard returns the shard of an id and the remaining bits of the hash.
func (as *activations) shard(id string) (*shard, uint64) {
	h := maphash.String(as.seed, id)
	return &as.shards[h%(1<<shardBits)], h >> shardBits
}

// bucket returns the place of the list for a hash. The shard has buckets.
func (s *shard) bucket(hash uint64) **Activation {
	return &s.buckets[hash&uint64(len(s.buckets)-1)]
}

// get returns the activation of an id, nil if there is none.
func (s *shard) get(id string, hash uint64) *Activation {
	if len(s.buckets) == 0 {
		return nil
	}
	a := *s.bucket(hash)
	for a != nil && a.id != id {
		a = a.next
	}
	return a
}

// put adds an activation for an id that has none.
func (s *shard) put(a *Activation, hash uint64) {
	if s.len == len(s.buckets) {
		s.grow(a.kind)
	}
	first := s.bucket(hash)
	a.next, *first = *first, a
	s.len++
}

func (s *shard) grow(as *activations) {
	old := s.buckets
	s.buckets = make([]*Activation, max(8, 2*len(old)))
	for _, a := range old {
		for a != nil {
			next := a.next
			_, hash := as.shard(a.id)
			first := s.bucket(hash)
			a.next, *first = *first, a
			a = next
		}
	}
}

// drop takes an activation out, if it is there.
func (s *shard) drop(a *Activation, hash uint64) {
	if len(s.buckets) == 0 {
		return
	}
	for at := s.bucket(hash); *at != nil; at = &(*at).next {
		if *at == a {
			*at, a.next = a.next, nil
			s.len--
			return
		}
	}
}

// find returns the activation of an epoch, nil if there is none. Epoch 0 means any.
func (as *activations) find(id string, epoch int64) *Activation {
	s, hash := as.shard(id)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a := s.get(id, hash); a != nil && (epoch == 0 || a.epoch == epoch) {
		return a
	}
	return nil
}

// len returns how many there are.
func (as *activations) len() (n int) {
	for i := range as.shards {
		s := &as.shards[i]
		s.mu.RLock()
		n += s.len
		s.mu.RUnlock()
	}
	return n
}

// add adds an activation that is starting, or returns the present one if its epoch is not
// lower. older is an activation of a lower epoch that was replaced.
func (as *activations) add(id string, epoch int64) (a, older *Activation, made bool) {
	s, hash := as.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	older = s.get(id, hash)
	if older != nil && older.epoch >= epoch {
		return older, nil, false
	}
	if older != nil {
		s.drop(older, hash)
	}
	a = &Activation{kind: as, id: id, epoch: epoch, running: true}
	s.put(a, hash)
	return a, older, true
}

// remove forgets an activation, unless another one has its place.
func (as *activations) remove(a *Activation) {
	s, hash := as.shard(a.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(a, hash)
}
