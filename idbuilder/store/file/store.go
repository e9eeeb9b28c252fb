// SPDX-License-Identifier: Apache-2.0

package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Options configure a [Store]. The zero value is ready to use.
type Options struct {
	// Now reads the clock for the times of files. The default value is time.Now.
	Now func() time.Time
}

// Store is a [store.Store] in a folder.
type Store struct {
	root  string
	disk  disk
	now   func() time.Time
	queue queue

	closing context.Context // ends with store.ErrClosed
	close   context.CancelCauseFunc

	mu     sync.Mutex
	failed map[string]error   // files and folders of which a sync has failed
	due    map[item]time.Time // when documents expire that this process has stored
	puts   int
}

var _ store.Store = (*Store)(nil)

// Open returns the store in a folder, which [Store.Init] makes if it does not
// exist. Nothing is read or written.
func Open(dir string, o Options) (*Store, error) {
	if dir == "" {
		return nil, errors.New("file: the name of the folder is empty")
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	return newStore(root, system{}, o), nil
}

func newStore(root string, d disk, o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{root: root, disk: d, now: o.Now, failed: map[string]error{}, due: map[item]time.Time{}}
	s.closing, s.close = context.WithCancelCause(context.Background())
	return s
}

// path returns the path of a file of the store.
func (s *Store) path(elements ...string) string {
	return filepath.Join(append([]string{s.root}, elements...)...)
}

// beginCall starts each call: it returns a context that also ends with the store, or
// the reason for which the call is not possible.
func (s *Store) beginCall(ctx context.Context) (context.Context, func(), error) {
	if err := s.checkOpen(ctx); err != nil {
		return ctx, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.closing, func() { cancel(store.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }, s.checkSchema()
}

func (s *Store) checkOpen(ctx context.Context) error {
	if s.closing.Err() != nil {
		return store.ErrClosed
	}
	return context.Cause(ctx)
}

// read runs fn, which reads files without a lock. An error of the schema comes before that of
// fn, which may have read a layout that this program does not know.
func (s *Store) read(ctx context.Context, fn func() error) error {
	_, end, err := s.beginCall(ctx)
	if end != nil {
		defer end()
	}
	if err != nil {
		return err
	}
	err = fn()
	return cmp.Or(s.checkSchema(), err)
}

// withLock runs fn while the process has a lock.
func (s *Store) withLock(ctx context.Context, name string, fn func() error) error {
	ctx, end, err := s.beginCall(ctx)
	if end != nil {
		defer end()
	}
	if err != nil {
		return err
	}
	return s.underLock(ctx, name, fn)
}

// underLock runs fn if, when the process has the lock, the schema still is one that this
// program knows: it may have waited for the lock while a newer program migrated. fn itself
// looks at the schema if the lock is that of the schema.
func (s *Store) underLock(ctx context.Context, name string, fn func() error) error {
	leave, err := s.queue.awaitTurn(ctx, name)
	if err != nil {
		return err
	}
	defer leave()
	lock, err := s.disk.Lock(ctx, s.path("locks", name+".lock"), false)
	if err != nil {
		return err
	}
	if name != lockSchema {
		err = s.checkSchema()
	}
	if err == nil {
		err = fn()
	}
	return errors.Join(err, lock.Close())
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.close(store.ErrClosed)
	return nil
}

// Ping implements [store.Store]. It writes and syncs a file.
func (s *Store) Ping(ctx context.Context) error {
	return s.explainError("ping", s.withLock(ctx, lockPing, func() error {
		return s.replaceFile(s.path("ping"), []byte(s.now().UTC().Format(time.RFC3339Nano)+"\n"))
	}))
}

// Names of locks that no key has: see FileName.
const (
	lockSchema   = "%schema"
	lockRevision = "%revision"
	lockPing     = "%ping"
	lockKind     = "%kind-" // and the kind
)

// explainError adds the name of the call to an error, and [store.ErrReadOnly] if the
// folder cannot be written.
func (s *Store) explainError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case isReadOnly(err):
		return fmt.Errorf("file: %s: %w: %w", what, store.ErrReadOnly, err)
	}
	return fmt.Errorf("file: %s: %w", what, err)
}

// isReadOnly reports whether the error says that this user cannot write the folder.
// Files that cannot be read are corrupt instead.
func isReadOnly(err error) bool {
	corrupt := (*store.CorruptError)(nil)
	return !errors.As(err, &corrupt) && (errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission))
}

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
		return store.NewerSchema(int(version), schema)
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
