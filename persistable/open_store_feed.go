// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// prunedKey is the key of the version up to which deletions were forgotten.
func (s *openStore) prunedKey(p *place) []byte { return s.systemKey(p, "pruned") }

// feedKey is the key of the position of a consumer.
func (s *openStore) feedKey(p *place, group string) []byte { return s.systemKey(p, "feed", group) }

// feedRange returns the keys of the positions of all consumers.
func (s *openStore) feedRange(p *place) kv.KeyRange {
	return kv.PrefixRange(slices.Clip(s.systemKey(p, "feed")))
}
