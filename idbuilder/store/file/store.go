// SPDX-License-Identifier: Apache-2.0

package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
