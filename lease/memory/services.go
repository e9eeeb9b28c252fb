// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/lease"
)

var _ lease.Enumerator = (*Store)(nil)

// Services implements [lease.Enumerator].
func (s *Store) Services(_ context.Context, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Sorted(maps.Keys(s.services))
	all = slices.DeleteFunc(all, func(id string) bool { return id <= after })
	return all[:min(limit, len(all))], nil
}
