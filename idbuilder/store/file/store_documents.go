// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

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
