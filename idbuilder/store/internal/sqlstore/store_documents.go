// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

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

// raiseFloor makes the versions of all documents that are created later greater than
// version. See the package's documentation.
func (s *Store) raiseFloor(ctx context.Context, version int64) error {
	_, err := s.server.Exec(ctx, "UPDATE id_state SET value = ? WHERE name = 'floor' AND value < ? AND "+Guard, version, version, s.newest())
	return err
}

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

// List implements [store.Store].
func (s *Store) List(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	if err := kind.Validate(); err != nil {
		return nil, err
	}
	if !utf8.ValidString(o.After) || strings.Contains(o.After, "\x00") {
		return nil, fmt.Errorf("store: a list after the key %q, which is not UTF-8 or has a control character", o.After)
	}
	first, last, possible := bounds(o.Prefix)
	return do(ctx, s, "list", func(ctx context.Context) ([]store.Document, error) {
		if !possible {
			return nil, ctx.Err()
		}
		found, err := query(ctx, s.server, from(kind)+" AND d.doc_key >= ? AND d.doc_key <= ? AND d.doc_key > ? AND "+Guard+" ORDER BY d.doc_key LIMIT ?",
			string(kind), first, last, o.After, s.newest(), int64(o.Most()))
		if err == nil && len(found) == 0 {
			err = s.explainNone(ctx, s.server, nil)
		}
		return found, err
	})
}

// beyond makes, after a prefix, a text that is greater than each key with that prefix:
// keys have at most 255 bytes.
var beyond = strings.Repeat(string(utf8.MaxRune), 64)

// bounds returns texts between which all keys with a prefix lie, and no others.
// The prefix may end in the middle of a character. Servers take only whole
// characters.
func bounds(prefix string) (first, last string, possible bool) {
	whole, part := split(prefix)
	if strings.Contains(prefix, "\x00") || len(prefix) > 255 {
		return "", "", false
	}
	if part == "" {
		return whole, whole + beyond, true
	}
	low := rune(sort.Search(utf8.MaxRune+1, func(r int) bool { return encode(rune(r)) >= part }))
	high := rune(sort.Search(utf8.MaxRune+1, func(r int) bool {
		text := encode(rune(r))
		return text > part && !strings.HasPrefix(text, part)
	})) - 1
	if low > high {
		return "", "", false
	}
	return whole + encode(low), whole + encode(high) + beyond, true
}

// split returns the valid characters at the front of a text, and the rest.
func split(text string) (whole, part string) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return text[:i], text[i:]
		}
		i += size
	}
	return text, ""
}

// encode returns the bytes of a character. For halves of UTF-16 pairs it returns those of the
// character before them, so that the order of numbers is that of bytes.
func encode(r rune) string {
	if r >= 0xd800 && r <= 0xdfff {
		r = 0xd7ff
	}
	return string(r)
}

const (
	// sweepEvery is the number of expiring documents after which a process removes expired
	// ones, and sweepSize about how many it removes.
	sweepEvery, sweepSize = 16, 64

	// Documents stay for a minute after they have expired: clocks differ.
	readExpired = "SELECT version, expires_at FROM id_documents " +
		"WHERE expires_at < CURRENT_TIMESTAMP(6) - INTERVAL '1' MINUTE AND kind <> 'config' AND " + Guard + " ORDER BY expires_at LIMIT ?"
	deleteExpired = "DELETE FROM id_documents WHERE expires_at <= ? AND version <= ? AND kind <> 'config' AND " + Guard
)

// sweepExpired removes documents that have expired.
func (s *Store) sweepExpired(ctx context.Context) error {
	_, err := do(ctx, s, "sweep", func(ctx context.Context) (rows int64, err error) {
		var highest int64
		var last time.Time
		err = s.server.Query(ctx, func(scan func(...any) error) error {
			var version int64
			err := scan(&version, &last)
			highest = max(highest, version)
			return err
		}, readExpired, s.newest(), int64(sweepSize))
		if err != nil || highest == 0 {
			return 0, err
		}
		if err := s.raiseFloor(ctx, highest); err != nil {
			return 0, err
		}
		return s.server.Exec(ctx, deleteExpired, last.UTC(), highest, s.newest())
	})
	return err
}
