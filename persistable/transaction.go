// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// Tx is a transaction to which a store is bound by its In. It is valid until the
// function that received it returns.
type Tx struct {
	t       *transaction
	options *kv.TransactionOptions // not nil: In gives a store options, and binds it to nothing
}

// KV returns the engine's transaction, for keys of the program's own. Keys in the
// directories of types belong to their stores. It is nil in ReadTransact and for
// the zero Tx.
func (tx Tx) KV() kv.Transaction {
	if tx.t == nil || tx.t.isReadOnly() {
		return nil
	}
	tx.t.lent.Store(true)
	return tx.t.writer
}

// DB returns the DB of the transaction, from which a hook makes the stores that it writes to; nil for
// the zero Tx.
func (tx Tx) DB() *DB {
	if tx.t == nil {
		return nil
	}
	return tx.t.db
}

// transaction is one attempt of a transaction, with the state that all attempts of
// a call share.
type transaction struct {
	db *DB
	scan.Transaction
	mu     sync.Mutex
	opened openPlaces

	operation *operation // to which it belongs; nil: that is not traced

	untouched bool              // that of a single operation, which has opened no place yet
	asked     bool              // whether metadata was started
	metadata  kv.Future[[]byte] // the read of the metadata version

	*writeState // nil if read-only
}

// operation is what the DB's tracer is told of. A nil operation is not traced: the DB has
// no tracer, or the operation is a part of another.
type operation struct {
	end    func(Outcome)
	began  time.Time
	ctx    context.Context // the tracer's, in which it begins the operations of the transaction
	meter  *measure.Meter
	before measure.Usage // of the transaction to which it is bound
	bound  bool

	attempts, conflicts, throttled int
	causes                         []Conflict
}

// maxCauses is how many causes of conflicts an operation keeps.
const maxCauses = 10

// operationKey is the key under which a context carries its operation.
type operationKey struct{}

// boundContext is the context of an operation that belongs to a transaction: it ends when
// its caller's does, and has the values of the transaction's, such as its span.
type boundContext struct {
	context.Context
	values context.Context
}

// Value implements [context.Context].
func (c boundContext) Value(key any) any {
	if v := c.values.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// measureWrites returns the engine's transaction with its calls counted.
func (o *operation) measureWrites(tx kv.Transaction) kv.Transaction {
	if o == nil {
		return tx
	}
	return o.meter.Transaction(tx)
}

// measureReads returns the engine's transaction with its reads counted.
func (o *operation) measureReads(tx kv.ReadTransaction) kv.ReadTransaction {
	if o == nil {
		return tx
	}
	return o.meter.ReadTransaction(tx)
}

// startAttempt counts an attempt.
func (o *operation) startAttempt() {
	if o != nil {
		o.attempts++
	}
}

// endAttempt counts an attempt that ended with err if a limit of its tags was the cause, and
// returns err.
func (o *operation) endAttempt(err error) error {
	if o != nil && err != nil {
		if code := kv.CodeOf(err); code == kv.CodeTagThrottled || code == kv.CodeProxyTagThrottled {
			o.throttled++
		}
	}
	return err
}

// engine returns the engine of db for the operation's transaction.
func (o *operation) engine(db *DB) kv.Database {
	if o == nil {
		return db.engine
	}
	return kv.With(db.engine, kv.TransactionOptions{Identifier: o.identifier(db)})
}

// identifier returns the name of the operation's transaction in db, "" for none.
func (o *operation) identifier(db *DB) string {
	if o == nil {
		return db.settings.Identifier
	}
	id, _ := o.ctx.Value(identifierKey{}).(string)
	if db.settings.Identifier != "" && id != "" {
		id = db.settings.Identifier + "/" + id
	}
	id = cmp.Or(id, db.settings.Identifier)
	return id[:min(len(id), kv.MaxIdentifierSize)]
}

// noteConflict counts the conflict with which the attempt before failed.
func (o *operation) noteConflict(causes []Conflict) {
	if o == nil {
		return
	}
	o.conflicts++
	o.causes = append(o.causes, causes...)
	o.causes = o.causes[max(0, len(o.causes)-maxCauses):]
}

// finish tells the tracer how the operation ended. err points to its result.
func (o *operation) finish(err *error) {
	if o == nil {
		return
	}
	out := Outcome{Usage: o.meter.Usage().Sub(o.before), Time: time.Since(o.began), Err: *err}
	if !o.bound {
		out.Attempts, out.Conflicts, out.Throttled, out.Causes = o.attempts, o.conflicts, o.throttled, o.causes
		out.Waits = o.meter.Waits()
	}
	o.end(out)
}

// isReadOnly reports whether the transaction cannot write.
func (t *transaction) isReadOnly() bool { return t.writeState == nil }

var metadataVersionKey = []byte(kv.MetadataVersionKey)

// lastKnown returns the store at a place as the DB last read it, nil if it never
// did. An operation starts its reads there and then calls openStore, or one of its
// variants, which confirms by the metadata version that the store has not
// changed. lastKnown starts the read of that version, so that all reads are one
// round. If openStore returns another store, the operation must start its reads
// again there, and use none of the first.
func (t *transaction) lastKnown(p *place) *openStore {
	known := p.known.Load()
	if known != nil {
		t.askMetadataVersion()
	}
	return known
}

// askMetadataVersion starts the read of the metadata version, once, where this
// transaction cannot have written it: in one that only reads, and in that of a single
// operation which has opened no place yet.
func (t *transaction) askMetadataVersion() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.asked && (t.isReadOnly() || t.untouched) {
		t.asked, t.metadata = true, t.Reader.Snapshot().Get(metadataVersionKey)
	}
}

// takeMetadataVersion returns the read that askMetadataVersion started, if there is
// one and it may still be used.
func (t *transaction) takeMetadataVersion() (version kv.Future[[]byte], ok bool) {
	if !t.asked || !t.isReadOnly() && !t.untouched {
		return version, false
	}
	t.untouched = false // once: the operation may write the version next
	return t.metadata, true
}

// openStore returns the store at a place for reading; nil if nothing was ever
// written there.
func (t *transaction) openStore(ctx context.Context, p *place) (*openStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isReadOnly() {
		return t.openToRead(ctx, p)
	}
	return t.openToWrite(ctx, p)
}

// openToRead is openStore in a transaction that writes nothing: it can always
// read the metadata version, and what it has opened stays true. t.mu is held.
func (t *transaction) openToRead(ctx context.Context, p *place) (*openStore, error) {
	if s, found := t.opened.find(p); found {
		return s, nil
	}
	read, ok := t.takeMetadataVersion()
	if !ok {
		read = t.Reader.Get(metadataVersionKey)
	}
	version, err := read.Get(ctx)
	if err != nil {
		return nil, err
	}
	s := p.known.Load()
	if s == nil || s.metadata != string(version) {
		if s, err = p.loadCommitted(ctx, t, string(version)); err != nil {
			return nil, err
		}
	}
	t.opened.add(p, s)
	return s, nil
}

// openToWrite is openStore in a transaction that writes. Once the transaction
// may have moved or removed directories, or changed a header, it must read these
// itself each time: nothing cached has its writes. t.mu is held.
func (t *transaction) openToWrite(ctx context.Context, p *place) (*openStore, error) {
	version, readable, err := t.metadataVersion(ctx)
	if err != nil {
		return nil, err
	}
	if !readable {
		return t.openUncached(ctx, p)
	}
	if s, found := t.opened.find(p); found {
		return s, nil
	}
	s := p.known.Load()
	if s == nil || s.metadata != version {
		if s, err = p.loadCommitted(ctx, t, version); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return t.openUncached(ctx, p)
	}
	t.opened.add(p, s)
	return s, t.protectStore(s)
}

// metadataVersion returns the metadata version, and whether the transaction may
// still read it.
func (t *transaction) metadataVersion(ctx context.Context) (version string, readable bool, err error) {
	if read, ok := t.takeMetadataVersion(); ok {
		value, err := read.Get(ctx)
		return string(value), true, err
	}
	return directory.MetadataVersion(ctx, t.writer)
}

// protectStore makes the transaction conflict with every change that makes s untrue:
// of the header, and a move or removal of the directory or of one above it.
func (t *transaction) protectStore(s *openStore) error {
	if err := t.writer.AddReadConflictKey(s.header); err != nil {
		return err
	}
	return s.directory.Protect(t.writer)
}

// openUncached opens a place by reads of the transaction itself, which see its
// own writes, and conflict. The result is not remembered: it may change again.
func (t *transaction) openUncached(ctx context.Context, p *place) (*openStore, error) {
	d, err := p.db.options.Layer.Open(ctx, t.writer, p.path, p.expects...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.readStore(ctx, t.writer, d)
}

// openPlaces are the places that a transaction has opened. The first needs no
// allocation: most transactions open one.
type openPlaces struct {
	first openPlace
	more  []openPlace
}

type openPlace struct {
	place *place
	store *openStore // nil: there is none
}

func (o *openPlaces) find(p *place) (s *openStore, found bool) {
	if o.first.place == p {
		return o.first.store, true
	}
	for _, other := range o.more {
		if other.place == p {
			return other.store, true
		}
	}
	return nil, false
}

func (o *openPlaces) add(p *place, s *openStore) {
	if o.first.place == nil {
		o.first = openPlace{p, s}
		return
	}
	o.more = append(o.more, openPlace{p, s})
}

// snapshot returns the transaction for reads that do not conflict.
func (t *transaction) snapshot() *transaction {
	return &transaction{db: t.db, Transaction: scan.Transaction{Reader: t.writer.Snapshot()}}
}
