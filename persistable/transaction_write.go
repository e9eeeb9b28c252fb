// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// writeState is what only a transaction that writes has. Writes of several
// goroutines overlap in it. So that of two that claim one id or one unique value
// one sees what the other has written:
//
//  1. A write loads Writes.Count before it starts its reads.
//  2. It then takes writeLock, and holds it until it has written.
//  3. If the count has changed since 1, it reads and checks once more. The engine
//     has most of that in memory, since the transaction has read it before.
//  4. After it has written, or failed half-way, it adds one to the count.
type writeState struct {
	writer     kv.Transaction
	token      format.Token
	unsure     bool // an earlier attempt may have committed
	onlyReads  bool // that of a function of Transact that has written through no store
	conflicts  int  // attempts in a row, directly before, that conflicted
	writeLock  sync.Mutex
	fences     []func(context.Context) error // the checks of the DB's fences; nil: not started
	versions   ownVersions
	borrowed   bool        // the caller commits: see DB.In
	lent       atomic.Bool // the program has the engine's transaction, and may have set options
	seesWrites bool        // the transaction reads what it has written; writeLock guards it
	spoilMu    sync.Mutex
	spoiled    error // why the attempt must not be committed; spoilMu guards it
	written    writtenRecords
	created    [][]byte // the keys of the records that this attempt created
	earlier    [][]byte // the keys of those that attempts created which may have committed, each once
}

// spoil makes the attempt fail, even if the function of the transaction goes on after the
// error: an operation that returned it has written a part of what it writes. Operations
// avoid this: they do all that can fail before they write. A caller that commits itself
// gets the code 1025; if the error is one to be retried, the caller has to return it.
func (t *transaction) spoil(err error) {
	t.spoilMu.Lock()
	t.spoiled = cmp.Or(t.spoiled, err)
	t.spoilMu.Unlock()
	if t.borrowed && !kv.IsRetryable(err) {
		t.writer.Cancel()
	}
}

// checkWhole returns an error if the attempt has a part of an operation only.
func (t *transaction) checkWhole() error {
	t.spoilMu.Lock()
	defer t.spoilMu.Unlock()
	if t.spoiled == nil {
		return nil
	}
	return fmt.Errorf("persistable: the transaction cannot be committed, because an operation in it failed when it had written a part: %w", t.spoiled)
}

func newWriteTransaction(db *DB, tx kv.Transaction) *transaction {
	both := &struct {
		transaction
		writeState
		scan.Writes
	}{transaction{db: db}, writeState{writer: tx, token: format.NewToken()}, scan.Writes{Writer: tx}}
	both.transaction.writeState = &both.writeState
	both.transaction.Transaction = scan.Transaction{Reader: tx, Writes: &both.Writes}
	return &both.transaction
}

// startAttempt drops the state of the attempt before, but for what it may have committed.
func (t *transaction) startAttempt(a kv.Attempt) {
	t.opened, t.asked = openPlaces{}, false
	t.fences = nil
	t.versions = ownVersions{}
	t.spoiled = nil
	t.written.startAttempt(a.MaybeCommitted && a.Conflicts == 0)
	if a.MaybeCommitted && a.Conflicts == 0 { // an attempt that conflicted has committed nothing
		t.earlier = append(t.earlier, t.created...)
		slices.SortFunc(t.earlier, bytes.Compare)
		t.earlier = slices.CompactFunc(t.earlier, bytes.Equal)
	}
	t.created = t.created[:0]
}

// committedEarlier reports whether an earlier attempt did commit: a record that it
// created is there and has the token of this call. Every attempt after one with an
// unknown outcome asks, whatever errors came in between.
func (t *transaction) committedEarlier(ctx context.Context) (bool, error) {
	reads := make([]kv.Future[[]byte], len(t.earlier))
	for i, key := range t.earlier {
		reads[i] = t.Reader.Get(key)
	}
	for _, read := range reads {
		value, err := read.Get(ctx)
		if err != nil {
			return false, err
		}
		if s, err := format.ParseRecord(value); err == nil && s.Token == t.token {
			return true, nil
		}
	}
	return false, nil
}

// noteCreated notes the key of a record that this attempt creates. All are noted,
// because other transactions may delete some before committedEarlier looks.
func (t *transaction) noteCreated(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = append(t.created, slices.Clone(key))
}

// noteDeleted removes a key that noteCreated noted.
func (t *transaction) noteDeleted(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = slices.DeleteFunc(t.created, func(k []byte) bool { return bytes.Equal(k, key) })
	t.written.forget(key)
}

// noteMarked is noteDeleted for a record that stays: what the attempt has created is there.
func (t *transaction) noteMarked(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written.forget(key)
}

// askForConflicts lets the engine report the keys on which the attempt conflicts, and
// tells the operation of those of the attempt before.
func (t *transaction) askForConflicts(ctx context.Context, a kv.Attempt) error {
	if !t.db.explainsConflicts() {
		return nil
	}
	if a.Conflicts > 0 {
		t.operation.noteConflict(t.conflictsBefore(ctx))
	}
	return t.writer.SetOption(kv.OptionReportConflictingKeys, 0)
}

// explain adds to a conflict's error what others have changed.
func (t *transaction) explain(err error) error {
	if err == nil || !t.db.explainsConflicts() {
		return err
	}
	last := lastError(err)
	if last == nil || last.Code != kv.CodeNotCommitted {
		return err
	}
	e := &ConflictError{Err: err}
	for _, r := range last.Conflicts {
		e.Conflicts = append(e.Conflicts, t.describeConflict(r))
	}
	t.operation.noteConflict(e.Conflicts)
	if len(e.Conflicts) == 0 {
		return err
	}
	return e
}

// startFences starts the checks of the DB's fences, once an attempt.
func (t *transaction) startFences() {
	if len(t.db.fences) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fences != nil {
		return
	}
	for _, f := range t.db.fences {
		t.fences = append(t.fences, f.StartCheck(t.writer))
	}
}

// awaitFences returns an [ErrFenced] if one of the DB's fences does not hold.
func (t *transaction) awaitFences(ctx context.Context) error {
	if len(t.db.fences) == 0 {
		return nil
	}
	t.startFences()
	for _, f := range t.fences {
		if err := fenceError("", nil, f(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// fenceError makes an [ErrFenced] of the error of a lost lease. typ and id are those of the
// record, empty if none is concerned.
func fenceError(typ string, id []byte, err error) error {
	switch {
	case !errors.Is(err, leasefdb.ErrLeaseLost):
		return err
	case typ == "":
		return sentinel.Mark(ErrFenced, fmt.Errorf("persistable: the transaction is fenced off: %w", err))
	}
	return sentinel.Mark(ErrFenced, fmt.Errorf("persistable: %s %s is fenced off: %w: make a new id and create the record under it", typ, idText(id), err))
}

// openOrCreateStore returns the store at a place for writing. If there is none, check
// says why it must not be created for what is to be written, in a store like the one that
// would be; if it is nil, openOrCreateStore returns nil. It then creates the directory and
// the header. It adds to a header what this program's schema adds.
func (t *transaction) openOrCreateStore(ctx context.Context, p *place, check func(*openStore) error) (s *openStore, created bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err = t.openToWrite(ctx, p)
	switch {
	case err != nil || s == nil && check == nil:
		return nil, false, err
	case s == nil:
		s, err = t.createStore(ctx, p, check)
		return s, err == nil, err
	}
	if err := s.checkWritable(p); err != nil {
		return nil, false, err
	}
	s, err = t.updateHeader(ctx, p, s)
	return s, false, err
}

// openStoreToWrite returns the store at a place for writing, nil if there is none.
func (t *transaction) openStoreToWrite(ctx context.Context, p *place) (*openStore, error) {
	s, _, err := t.openOrCreateStore(ctx, p, nil)
	return s, err
}

// openToPut opens a store for writes of records, or creates it as openOrCreateStore does.
// It returns nil if there is none, and an [ErrForeignIndex] if the store has an index
// that this program cannot maintain.
func (t *transaction) openToPut(ctx context.Context, p *place, check func(*openStore) error) (o *openStore, created bool, err error) {
	o, created, err = t.openOrCreateStore(ctx, p, check)
	if err == nil && o != nil {
		err = o.foreign.err
	}
	return o, created, err
}

// updateHeader adds to the header what this program's schema adds.
// t.mu is held.
func (t *transaction) updateHeader(ctx context.Context, p *place, s *openStore) (*openStore, error) {
	if s.upToDate {
		return s, nil
	}
	next := s.catalog.Clone()
	next.AddSchema(p.lock)
	return t.setCatalog(ctx, p, s, next)
}

// createStore creates the directory and the header of a place. The metadata
// version stays as it is, because no process caches that a store is missing. t.mu
// is held.
func (t *transaction) createStore(ctx context.Context, p *place, check func(*openStore) error) (*openStore, error) {
	catalog := format.NewCatalog(p.lock, p.scatter, p.definitions)
	switch {
	case p.record.Dynamic != nil:
		return nil, p.noHeader()
	case p.db.HoldsSystem(p.path...):
		return nil, &DirectoryError{Type: p.typ, Path: p.path, Reason: "the database itself needs this directory: no records can be put there; " +
			"begin the directory of the type with a fixed name, or refuse such values of its {Field}s"}
	}
	if err := check(newOpenStore(p, nil, nil, catalog)); err != nil {
		return nil, err
	}
	s, err := t.createDirectory(ctx, p, catalog)
	if err != nil {
		t.spoil(err)
	}
	return s, err
}

// createDirectory creates the directory and the header of a place.
func (t *transaction) createDirectory(ctx context.Context, p *place, catalog *format.Catalog) (*openStore, error) {
	d, err := p.db.options.Layer.CreateOrOpen(ctx, t.writer, p.path, p.expects...)
	if err != nil {
		return nil, err
	}
	settings := startSettings(t.writer, d)
	s, err := p.readStore(ctx, t.writer, d)
	if err != nil {
		return nil, err
	}
	tenants, err := settings.await(ctx, p.typ)
	if err != nil {
		return nil, err
	}
	if err := checkLocks(p, tenants); err != nil {
		return nil, err
	}
	if s == nil {
		prefix, err := d.Prefix()
		if err != nil {
			return nil, err
		}
		if s, err = t.writeCatalog(p, d, prefix, catalog); err != nil {
			return nil, err
		}
		s.tenants = tenants
	}
	t.opened.add(p, s)
	return s, nil
}

// changeCatalog changes the header of a store outside of a write.
func (t *transaction) changeCatalog(ctx context.Context, p *place, was *openStore, c *format.Catalog) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.setCatalog(ctx, p, was, c)
	return err
}

// setCatalog changes the header of a store. Once the transaction commits, all
// processes drop what they cached of stores. t.mu is held.
func (t *transaction) setCatalog(ctx context.Context, p *place, was *openStore, c *format.Catalog) (*openStore, error) {
	s, err := t.replaceCatalog(ctx, p, was, c)
	if err != nil {
		t.spoil(err)
	}
	return s, err
}

func (t *transaction) replaceCatalog(ctx context.Context, p *place, was *openStore, c *format.Catalog) (*openStore, error) {
	s, err := t.writeCatalog(p, was.directory, was.prefix, c)
	if err == nil {
		err = t.keepFormer(p, was, c)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range was.catalog.LostRecounts(c) {
		index.ClearUnknown(t.writer, was.prefix, name)
	}
	s.tenants = was.tenants
	return s, directory.Invalidate(ctx, t.writer)
}

func (t *transaction) writeCatalog(p *place, d *directory.Directory, prefix []byte, c *format.Catalog) (*openStore, error) {
	value, err := c.Encode()
	if err != nil {
		return nil, err
	}
	s := newOpenStore(p, d, prefix, c)
	t.writer.Set(s.header, value)
	return s, nil
}

// keepFormer keeps the header that the transaction replaces, under
// ("S", type, "history", versionstamp).
func (t *transaction) keepFormer(p *place, was *openStore, now *format.Catalog) error {
	if was.catalog.Describes(now) {
		return nil
	}
	value, err := format.Former{Until: time.Now(), Catalog: was.catalog}.Encode()
	if err != nil {
		return err
	}
	key, err := tuple.Tuple{tuple.Incomplete(0)}.PackVersionstamped(was.historyKey(p))
	if err != nil {
		return err
	}
	t.writer.Atomic(kv.SetVersionstampedKey, key, value)
	return nil
}
