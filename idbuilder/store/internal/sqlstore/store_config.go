// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

const (
	insertConfig = "INSERT INTO id_configs (key_name, id_type, config_json) SELECT ?, ?, ? FROM id_state WHERE name = 'revision' AND " + Guard
	updateConfig = "UPDATE id_configs SET id_type = ?, config_json = ?, updated_at = CURRENT_TIMESTAMP WHERE key_name = ? AND " + Guard
	deleteConfig = "DELETE FROM id_configs WHERE key_name = ? AND " + Guard
)

// putConfig stores a configuration: its version and expiry in id_documents, the
// rest in id_configs.
func (s *Store) putConfig(ctx context.Context, d store.Document) (version int64, err error) {
	err = s.server.Transact(ctx, func(c Conn) error {
		if version, err = s.putDocument(ctx, c, store.Configs, d, nil); err != nil {
			return err
		}
		var rows int64
		if d.Version == 0 {
			rows, err = c.Exec(ctx, insertConfig, d.Key, d.Type, string(d.Value), s.newest())
		} else {
			rows, err = c.Exec(ctx, updateConfig, d.Type, string(d.Value), d.Key, s.newest())
		}
		if err == nil && rows == 0 {
			err = s.explainNone(ctx, c, changedByHand(d.Key))
		}
		return err
	})
	return version, err
}

// deleteConfig deletes both rows. The floor was raised before.
func (s *Store) deleteConfig(ctx context.Context, key string, version int64) error {
	return s.server.Transact(ctx, func(c Conn) error {
		if err := s.remove(ctx, c, store.Configs, key, version); err != nil {
			return err
		}
		rows, err := c.Exec(ctx, deleteConfig, key, s.newest())
		if err == nil && rows == 0 {
			err = s.explainNone(ctx, c, nil)
		}
		return err
	})
}

// changedByHand is the error for a configuration that has a row in only one of the
// tables.
func changedByHand(key string) error {
	return &store.CorruptError{
		Where:  fmt.Sprintf("tables id_configs and id_documents, key %q", key),
		Reason: "one of the two has a row of this configuration and the other has none, as after a change by hand: restart a worker, which repairs it",
	}
}

// adoptForeign adds the rows in id_documents for configurations that another program has
// inserted into id_configs, and removes those for configurations that it has deleted.
func (s *Store) adoptForeign(ctx context.Context) error {
	const (
		added   = "FROM id_configs c WHERE NOT EXISTS (SELECT 1 FROM id_documents d WHERE d.kind = 'config' AND d.doc_key = c.key_name) AND " + Guard
		removed = "FROM id_documents d WHERE d.kind = 'config' AND NOT EXISTS (SELECT 1 FROM id_configs c WHERE c.key_name = d.doc_key) AND " + Guard
	)
	keys, _, err := list(ctx, s.server, "SELECT c.key_name, 0 "+added, s.newest())
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, _, err := s.server.Number(ctx, s.dialect.Create, string(store.Configs), key, nil, nil, s.newest()); err != nil {
			return err
		}
	}
	keys, versions, err := list(ctx, s.server, "SELECT d.doc_key, d.version "+removed, s.newest())
	for i, key := range keys {
		if err = s.raiseFloor(ctx, versions[i]); err == nil {
			_, err = s.server.Exec(ctx, deleteDocument, string(store.Configs), key, versions[i], s.newest())
		}
		if err != nil {
			break
		}
	}
	return err
}

// list returns keys and versions.
func list(ctx context.Context, c Conn, query string, args ...any) (keys []string, versions []int64, err error) {
	err = c.Query(ctx, func(scan func(...any) error) error {
		var key string
		var version int64
		err := scan(&key, &version)
		keys, versions = append(keys, key), append(versions, version)
		return err
	}, query, args...)
	return keys, versions, err
}
