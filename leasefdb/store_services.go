// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/tuple"
)

var _ lease.Enumerator = (*Store)(nil)

// Services implements [lease.Enumerator]: it reads one key of each service. It
// does not create the directory of the leases.
func (s *Store) Services(ctx context.Context, after string, limit int) (ids []string, err error) {
	err = s.db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := s.dirs.OpenRead(ctx, tx, s.path)
		if errors.Is(err, directory.ErrNotFound) {
			ids = nil
			return nil
		}
		if err != nil {
			return err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return err
		}
		ids, err = listServices(ctx, tx.Snapshot(), prefix, after, limit)
		return err
	})
	return ids, err
}

// listServices jumps from the first key of a service to that of the next.
func listServices(ctx context.Context, tx kv.ReadTransaction, prefix []byte, after string, limit int) (ids []string, err error) {
	all := kv.PrefixRange(prefix)
	if after != "" {
		all.Begin = kv.PrefixRange(servicePrefix(prefix, after)).End
	}
	for len(ids) < limit {
		pairs, err := tx.GetRange(all.Selectors(), kv.RangeOptions{Limit: 1}).Slice(ctx)
		if err != nil || len(pairs) == 0 {
			return ids, err
		}
		id, err := parseService(pairs[0].Key[len(prefix):])
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		all.Begin = kv.PrefixRange(servicePrefix(prefix, id)).End
	}
	return ids, nil
}

// parseService returns the service that a key in the directory belongs to.
func parseService(key []byte) (string, error) {
	// Service ids have no zero byte, and the key of the service's map follows.
	for i := 1; i < len(key); i++ {
		if key[i] != 0 {
			continue
		}
		name, err := tuple.Unpack(key[:i+1])
		if err == nil && len(name) == 1 {
			if id, ok := name[0].(string); ok {
				return id, nil
			}
		}
		break
	}
	return "", fmt.Errorf("leasefdb: the directory of the leases has a key that is no service's: %q", key)
}
