// SPDX-License-Identifier: Apache-2.0

package election

import (
	"bytes"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// sweeper finds registrations that are not renewed any more. The leader has one.
type sweeper struct {
	seen map[string]valueSince // by key
}

// valueSince is the value of a registration, and since when it is unchanged.
type valueSince struct {
	value []byte
	since time.Time
}

// findDead remembers the registrations and returns those that have not changed
// for patience.
func (s *sweeper) findDead(pairs []kv.KeyValue, now time.Time, patience time.Duration) (dead []kv.KeyValue) {
	present := make(map[string]valueSince, len(pairs))
	for _, pair := range pairs {
		before, known := s.seen[string(pair.Key)]
		if !known || !bytes.Equal(before.value, pair.Value) {
			before = valueSince{pair.Value, now}
		}
		present[string(pair.Key)] = before
		if now.Sub(before.since) >= patience {
			dead = append(dead, pair)
		}
	}
	s.seen = present
	return dead
}
