// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

func (s *Store) documentPath(kind store.Kind, key string) string {
	return filepath.Join(s.kindFolder(kind), FileName(key)+ending)
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, kind store.Kind, key string) (d store.Document, err error) {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return d, err
	}
	err = s.read(ctx, func() error {
		d, err = s.readDocument(s.documentPath(kind, key), key)
		return err
	})
	if err == nil && d.Version == 0 {
		err = store.ErrNotFound
	}
	return d, s.explainError("get", err)
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	if err := errors.Join(kind.Validate(), d.Validate()); err != nil {
		return 0, err
	}
	err := s.withLock(ctx, lockKind+string(kind), func() error {
		path := s.documentPath(kind, d.Key)
		old, err := s.readDocument(path, d.Key)
		if err != nil {
			return err
		}
		if old.Version != d.Version {
			return store.ErrConflict
		}
		d.Updated, d.Created = s.now().UTC(), old.Created
		if old.Version == 0 {
			d.Created = d.Updated
			if old.Version, err = s.beforeFirst(kind); err != nil {
				return err
			}
		}
		d.Version = old.Version + 1
		data, err := encodeDocument(d)
		if err != nil {
			return err
		}
		if err := s.replaceFile(path, data); err != nil {
			return err
		}
		s.noteExpiry(kind, d)
		return nil
	})
	if err != nil {
		return 0, s.explainError("put", err)
	}
	return d.Version, nil
}

// beforeFirst returns the version after which a new document's versions begin, and makes
// the folder of the kind.
func (s *Store) beforeFirst(kind store.Kind) (int64, error) {
	dir := s.kindFolder(kind)
	if _, err := s.disk.ReadDir(dir); errors.Is(err, fs.ErrNotExist) {
		if err := s.disk.MkdirAll(dir); err != nil {
			return 0, err
		}
		if err := s.syncDir(filepath.Dir(dir)); err != nil {
			return 0, err
		}
	}
	version, _, err := s.readNumber("versions", string(kind))
	return version, err
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return err
	}
	return s.explainError("delete", s.withLock(ctx, lockKind+string(kind), func() error {
		d, err := s.readDocument(s.documentPath(kind, key), key)
		switch {
		case err != nil || d.Version == 0:
			return err
		case d.Version != version:
			return store.ErrConflict
		}
		return s.eraseDocument(kind, d)
	}))
}

// eraseDocument removes a document. Before that it stores the version, so that the next
// document with its key has a greater one even after a crash.
func (s *Store) eraseDocument(kind store.Kind, d store.Document) error {
	highest, _, err := s.readNumber("versions", string(kind))
	if err != nil {
		return err
	}
	if d.Version > highest {
		if err := s.replaceFile(s.path("versions", string(kind)), fmt.Appendln(nil, d.Version)); err != nil {
			return err
		}
	}
	path := s.documentPath(kind, d.Key)
	if err := errors.Join(s.recordedFailure(path), s.disk.Remove(path)); err != nil {
		return err
	}
	return s.syncDir(filepath.Dir(path))
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, kind store.Kind, o store.ListOptions) (list []store.Document, err error) {
	if err := kind.Validate(); err != nil {
		return nil, err
	}
	ctx, end, err := s.beginCall(ctx)
	if end != nil {
		defer end()
	}
	if err == nil {
		err = s.withSharedLock(ctx, lockKind+string(kind), func() error {
			list, err = s.list(ctx, kind, o)
			return err
		})
	}
	return list, s.explainError("list", err)
}

// withSharedLock runs fn with a shared lock. In a folder that cannot be written it may run
// fn without one.
func (s *Store) withSharedLock(ctx context.Context, name string, fn func() error) error {
	lock, err := s.disk.Lock(ctx, s.path("locks", name+".lock"), true)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fn()
	}
	if err != nil {
		return err
	}
	err = s.checkSchema()
	if err == nil {
		err = fn()
	}
	return errors.Join(err, lock.Close())
}

func (s *Store) list(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	keys, err := s.documentKeys(kind)
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return !strings.HasPrefix(key, o.Prefix) || o.After != "" && key <= o.After
	})
	slices.Sort(keys)
	var list []store.Document
	for _, key := range keys[:min(len(keys), o.Most())] {
		if err := s.checkOpen(ctx); err != nil {
			return nil, err
		}
		d, err := s.readDocument(s.documentPath(kind, key), key)
		if err != nil {
			return nil, err
		}
		if d.Version > 0 {
			list = append(list, d)
		}
	}
	return list, nil
}

// documentKeys returns the keys of all documents of a kind.
func (s *Store) documentKeys(kind store.Kind) (keys []string, err error) {
	files, err := s.disk.ReadDir(s.kindFolder(kind))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, file := range files {
		name, found := strings.CutSuffix(file, ending)
		if !found {
			continue
		}
		key, ok := NameOf(name)
		if !ok {
			d, err := s.readDocument(filepath.Join(s.kindFolder(kind), file), "")
			if err != nil {
				return nil, err
			}
			if key = d.Key; d.Version > 0 && FileName(key) != name {
				return nil, &store.CorruptError{Where: filepath.Join(s.kindFolder(kind), file), Reason: "the file has the name of another key than " + key + "; rename it to " + FileName(key) + ending}
			}
		}
		if key != "" {
			keys = append(keys, key)
		}
	}
	return keys, err
}

// kindFolder returns the folder of a kind.
func (s *Store) kindFolder(kind store.Kind) string {
	if kind == store.Configs {
		return s.path("configs")
	}
	return s.path("documents", string(kind))
}

// readDocument returns a document; one with the version 0 if there is none.
func (s *Store) readDocument(path, key string) (d store.Document, err error) {
	data, exists, err := s.readFile(path)
	if err != nil || !exists {
		return d, err
	}
	return decodeDocument(path, key, data)
}

// documentFile is the contents of a document's file.
type documentFile struct {
	Key       string          `json:"key"`
	Type      string          `json:"id_type,omitempty"`
	Version   int64           `json:"version"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
	ExpiresAt *time.Time      `json:"expires_at,omitempty"`
	Value     json.RawMessage `json:"config"`
}

func encodeDocument(d store.Document) ([]byte, error) {
	f := documentFile{Key: d.Key, Type: d.Type, Version: d.Version, CreatedAt: d.Created, UpdatedAt: d.Updated, Value: d.Value}
	if !d.Expires.IsZero() {
		at := d.Expires.UTC()
		f.ExpiresAt = &at
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(f)
	return b.Bytes(), err
}

// decodeDocument reads the file of a key; with "" it takes the key from the file.
func decodeDocument(path, key string, data []byte) (d store.Document, err error) {
	var f documentFile
	err = json.Unmarshal(data, &f)
	d = store.Document{Key: f.Key, Type: f.Type, Value: f.Value, Version: f.Version, Created: f.CreatedAt, Updated: f.UpdatedAt}
	if err == nil {
		err = d.Validate()
	}
	switch {
	case err != nil:
	case f.Version < 1:
		err = fmt.Errorf("its version is %d", f.Version)
	case key != "" && f.Key != key:
		err = fmt.Errorf("it is of the key %q", f.Key)
	}
	if err != nil {
		return d, &store.CorruptError{Where: path, Reason: "this is not a document of the key " + key + "; " + wayOut, Err: err}
	}
	if f.ExpiresAt != nil {
		d.Expires = *f.ExpiresAt
	}
	return d, nil
}

// item names a document.
type item struct {
	kind store.Kind
	key  string
}

const (
	// sweepGrace is how long expired documents stay: clocks differ.
	sweepGrace = time.Minute
	// sweepEvery is the number of documents after which a process removes the expired ones
	// that it stored.
	sweepEvery = 16
)

// noteExpiry notes when a stored document expires, and removes others of its kind that
// have expired. The caller has the lock of the kind.
func (s *Store) noteExpiry(kind store.Kind, d store.Document) {
	s.mu.Lock()
	if d.Expires.IsZero() {
		delete(s.due, item{kind, d.Key})
	} else {
		s.due[item{kind, d.Key}] = d.Expires
	}
	var past []item
	if s.puts++; s.puts%sweepEvery == 0 {
		past = s.takeExpired(kind)
	}
	s.mu.Unlock()
	for _, it := range past {
		_ = s.removeExpired(it) // the document is stored; Init removes the others
	}
}

// takeExpired returns the documents of a kind that have expired, and forgets them. The
// caller holds the mutex.
func (s *Store) takeExpired(kind store.Kind) (past []item) {
	for it, at := range s.due {
		if it.kind == kind && s.isPast(at) {
			past = append(past, it)
			delete(s.due, it)
		}
	}
	return past
}

func (s *Store) isPast(at time.Time) bool {
	return !at.IsZero() && s.now().After(at.Add(sweepGrace))
}

// removeExpired removes a document if it has expired. The caller has the lock of the kind.
func (s *Store) removeExpired(it item) error {
	d, err := s.readDocument(s.documentPath(it.kind, it.key), it.key)
	if err != nil || d.Version == 0 || !s.isPast(d.Expires) {
		return err
	}
	return s.eraseDocument(it.kind, d)
}

// sweepAll removes the expired documents that earlier processes have left. A
// document that cannot be removed does no harm: readers check the expiry.
func (s *Store) sweepAll(ctx context.Context) error {
	kinds, err := s.disk.ReadDir(s.path("documents"))
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if store.Kind(kind).Validate() == nil {
			_ = s.underLock(ctx, lockKind+kind, func() error { return s.sweep(ctx, store.Kind(kind)) })
		}
	}
	return s.checkOpen(ctx)
}

func (s *Store) sweep(ctx context.Context, kind store.Kind) error {
	keys, err := s.documentKeys(kind)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.checkOpen(ctx); err != nil {
			return err
		}
		if err := s.removeExpired(item{kind, key}); err != nil {
			return err
		}
	}
	return nil
}
