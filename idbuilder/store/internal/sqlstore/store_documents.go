// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Columns of a document, their tables, and a condition on their kind. Configurations are
// in two tables.
const (
	fromDocuments  = "SELECT d.doc_key, '', d.value, d.version, d.expires_at, d.created_at, d.updated_at FROM id_documents d WHERE d.kind = ?"
	fromConfigs    = "SELECT d.doc_key, c.id_type, c.config_json, d.version, d.expires_at, d.created_at, d.updated_at FROM id_documents d JOIN id_configs c ON c.key_name = d.doc_key WHERE d.kind = ?"
	updateDocument = "UPDATE id_documents SET value = ?, expires_at = ?, version = version + 1, updated_at = CURRENT_TIMESTAMP(6) WHERE kind = ? AND doc_key = ? AND version = ? AND " + Guard
	deleteDocument = "DELETE FROM id_documents WHERE kind = ? AND doc_key = ? AND version = ? AND " + Guard
)

// from returns the beginning of a query for documents of a kind.
func from(kind store.Kind) string {
	if kind == store.Configs {
		return fromConfigs
	}
	return fromDocuments
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return store.Document{}, err
	}
	return do(ctx, s, "get", func(ctx context.Context) (store.Document, error) {
		return s.readDocument(ctx, kind, key)
	})
}

func (s *Store) readDocument(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	found, err := query(ctx, s.server, from(kind)+" AND d.doc_key = ? AND "+Guard, string(kind), key, s.newest())
	if err == nil && len(found) == 0 {
		err = s.explainNone(ctx, s.server, store.ErrNotFound)
	}
	if err != nil {
		return store.Document{}, err
	}
	return found[0], nil
}

// query returns the documents that a query finds.
func query(ctx context.Context, c Conn, statement string, args ...any) (found []store.Document, err error) {
	err = c.Query(ctx, func(scan func(...any) error) error {
		var d store.Document
		var expires sql.NullTime
		if err := scan(&d.Key, &d.Type, &d.Value, &d.Version, &expires, &d.Created, &d.Updated); err != nil {
			return err
		}
		if expires.Valid {
			d.Expires = expires.Time.UTC()
		}
		d.Created, d.Updated = d.Created.UTC(), d.Updated.UTC()
		found = append(found, d)
		return nil
	}, statement, args...)
	return found, err
}

// expiry returns a time as an argument.
func expiry(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Truncate(time.Microsecond)
}

// checkExpiry refuses a time that not all servers can keep.
func checkExpiry(d store.Document) error {
	if year := d.Expires.UTC().Year(); !d.Expires.IsZero() && (year < 1970 || year > 9999) {
		return fmt.Errorf("store: the document %q expires in the year %d, allowed are 1970 to 9999", d.Key, year)
	}
	return nil
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	if err := errors.Join(kind.Validate(), d.Validate(), checkExpiry(d)); err != nil {
		return 0, err
	}
	version, err := do(ctx, s, "put", func(ctx context.Context) (int64, error) {
		if kind == store.Configs {
			return s.putConfig(ctx, d)
		}
		return s.putDocument(ctx, s.server, kind, d, string(d.Value))
	})
	if err == nil && !d.Expires.IsZero() && s.puts.Add(1)%sweepEvery == 0 {
		_ = s.sweepExpired(ctx) // the document is stored; the next sweep removes the rest
	}
	return version, err
}

// putDocument creates or changes the row in id_documents. value is nil for a configuration.
func (s *Store) putDocument(ctx context.Context, c Conn, kind store.Kind, d store.Document, value any) (int64, error) {
	if d.Version == 0 {
		version, rows, err := c.Number(ctx, s.dialect.Create, string(kind), d.Key, value, expiry(d.Expires), s.newest())
		if err == nil && rows == 0 {
			err = s.explainNone(ctx, c, store.ErrConflict)
		}
		return version, err
	}
	rows, err := c.Exec(ctx, updateDocument, value, expiry(d.Expires), string(kind), d.Key, d.Version, s.newest())
	if err == nil && rows == 0 {
		err = s.explainNone(ctx, c, store.ErrConflict)
	}
	return d.Version + 1, err
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return err
	}
	_, err := do(ctx, s, "delete", func(ctx context.Context) (none struct{}, err error) {
		d, err := s.readDocument(ctx, kind, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return none, nil
		case err != nil:
			return none, err
		case d.Version != version:
			return none, store.ErrConflict
		}
		if err := s.raiseFloor(ctx, version); err != nil {
			return none, err
		}
		if kind == store.Configs {
			return none, s.deleteConfig(ctx, key, version)
		}
		return none, s.remove(ctx, s.server, kind, key, version)
	})
	return err
}

// remove deletes a row of id_documents. The floor was raised before.
func (s *Store) remove(ctx context.Context, c Conn, kind store.Kind, key string, version int64) error {
	rows, err := c.Exec(ctx, deleteDocument, string(kind), key, version, s.newest())
	if err == nil && rows == 0 {
		err = s.explainNone(ctx, c, store.ErrConflict)
	}
	return err
}

// raiseFloor makes the versions of all documents that are created from now on greater than
// version. See the package's documentation.
func (s *Store) raiseFloor(ctx context.Context, version int64) error {
	_, err := s.server.Exec(ctx, "UPDATE id_state SET value = ? WHERE name = 'floor' AND value < ? AND "+Guard, version, version, s.newest())
	return err
}
