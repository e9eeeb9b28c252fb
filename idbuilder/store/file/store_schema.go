// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// schema is the version of the layout that this program writes. A migration writes its version
// first and then changes each file under the file's lock: older programs read the version when
// they have the lock, and so write nothing after it.
const schema = 1

const schemaName = "schema_version"

// folders are those of a store.
var folders = []string{"sequences", "configs", "documents", "versions", "locks"}

// Init implements [store.Store].
func (s *Store) Init(ctx context.Context) error {
	return s.explainError("init", s.init(ctx))
}

func (s *Store) init(ctx context.Context) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if err := s.checkSchema(); err == nil {
		return s.sweepAll(ctx)
	} else if !isNoSchema(err) {
		return err
	}
	if err := s.makeFolders(); err != nil {
		return err
	}
	if err := s.underLock(ctx, lockSchema, s.createSchema); err != nil {
		return err
	}
	return s.sweepAll(ctx)
}

// makeFolders makes the folders, durably.
func (s *Store) makeFolders() error {
	for _, name := range folders {
		if err := s.disk.MkdirAll(s.path(name)); err != nil {
			return err
		}
	}
	return s.syncUp(s.root)
}

// syncUp makes the names of a folder and of all folders above it durable: this process, or
// one that crashed, may have made any of them. It skips folders that this user may not read,
// since others have made them.
func (s *Store) syncUp(dir string) error {
	for {
		if err := s.disk.SyncDir(dir); err != nil && !(errors.Is(err, fs.ErrPermission) && dir != s.root) {
			return s.recordFailure(dir, err)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil
		}
		dir = up
	}
}

// createSchema writes the version of the schema, unless another process has.
func (s *Store) createSchema() error {
	if err := s.checkSchema(); !isNoSchema(err) {
		return err
	}
	for _, name := range []string{"sequences", "configs"} {
		files, err := s.disk.ReadDir(s.path(name))
		if err != nil {
			return err
		}
		for _, file := range files {
			if strings.HasSuffix(file, ending) {
				return &store.CorruptError{Where: s.path(schemaName), Reason: fmt.Sprintf("the file is missing, and there is data (%s): "+
					"restore it from a backup, or, if the data is of this version of the program, write %d into it", filepath.Join(name, file), schema)}
			}
		}
	}
	return s.replaceFile(s.path(schemaName), fmt.Appendln(nil, schema))
}

func isNoSchema(err error) bool { return errors.Is(err, store.ErrNoSchema) }

// checkSchema reads the version of the schema.
func (s *Store) checkSchema() error {
	version, exists, err := s.readNumber(schemaName)
	switch {
	case err != nil:
		return err
	case !exists:
		return store.ErrNoSchema
	case version > schema:
		return &store.SchemaError{Found: int(version), Supported: schema}
	}
	return nil
}

// readNumber reads a file with a number, 0 if there is none.
func (s *Store) readNumber(elements ...string) (n int64, exists bool, err error) {
	path := s.path(elements...)
	data, exists, err := s.readFile(path)
	if err != nil || !exists {
		return 0, false, err
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || n < 1 {
		return 0, false, &store.CorruptError{Where: path, Reason: "it has no positive number; " + wayOut, Err: err}
	}
	return n, true, nil
}

// Revision implements [store.Store].
func (s *Store) Revision(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, func() error {
		n, _, err = s.readNumber("revision")
		return err
	})
	return n, s.explainError("revision", err)
}

// Advance implements [store.Store].
func (s *Store) Advance(ctx context.Context) (n int64, err error) {
	err = s.withLock(ctx, lockRevision, func() error {
		if n, _, err = s.readNumber("revision"); err != nil {
			return err
		}
		n++
		return s.replaceFile(s.path("revision"), fmt.Appendln(nil, n))
	})
	if err != nil {
		return 0, s.explainError("advance", err)
	}
	return n, nil
}
