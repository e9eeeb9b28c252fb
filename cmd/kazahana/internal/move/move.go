// SPDX-License-Identifier: Apache-2.0

// Package move copies a whole database into an empty one of another engine: from a folder
// to a cluster, or back.
//
// Both engines use the same keys, so a copy of all keys is the same database. Three things
// are not in the keys: commit versions, which are stored in records with versions and in
// feeds, and which the target must be above; programs that still write to the source; and
// what must not be shared with the source, if that goes on.
//
//	result, err := move.Run(ctx, move.End{DB: folder, Name: "/srv/data"}, move.End{DB: cluster, Name: "prod:k3", Shared: true}, move.Options{})
package move

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

var (
	// ErrNotEmpty: the target holds keys, and no move into it was interrupted.
	ErrNotEmpty = errors.New("move: the target is not empty")
	// ErrOther: a move into the target, or out of the source, is unfinished, and it is another one.
	ErrOther = errors.New("move: another move is unfinished")
	// ErrVersions: the target's versions are not above those of the source, and its engine
	// cannot advance them.
	ErrVersions = errors.New("move: the target's versions are not above those of the source")
	// ErrDiffers: source and target are not the same after the copy. The next call copies again.
	ErrDiffers = errors.New("move: the target differs from the source")
	// ErrLocked: a cluster has another lock than that of the move, or none any more.
	ErrLocked = errors.New("move: the lock of the cluster is not that of this move")
	// ErrNone: no move into the target is unfinished.
	ErrNone = errors.New("move: there is no unfinished move")
)

// End is one of the two databases.
type End struct {
	DB kv.Database
	// Name says which database it is: the path of a folder, or the name of a cluster. A move
	// that was interrupted is continued by one from a source of the same name.
	Name string
	// Shared says that other processes may have the database open. It is locked, as fdbcli lock does:
	// a source for good, a target until it is complete. An end that is not shared must be open
	// in this process only.
	Shared bool
}

// Phase is a part of a move that takes long.
type Phase string

// The phases.
const (
	Copying   Phase = "copying"
	Comparing Phase = "comparing"
)

// Options adjust a move. The zero value is ready to use.
type Options struct {
	// Progress is told how many bytes of keys and values have passed, of about how many. It is
	// called by one goroutine at a time.
	Progress func(phase Phase, done, total int64)
	// Priority is that of the transactions. 0: [kv.PriorityBatch], so that the requests of other
	// programs that use the cluster come first.
	Priority kv.Priority

	batch int64 // the most bytes of a transaction; 0: batchSize
}

// batchSize is far below FoundationDB's limit of 10 MB, and about what it advises.
const batchSize = 1 << 20

// Result says what a move has done.
type Result struct {
	Version     int64       `json:"version"`     // of the source: all versions of the target are above it
	Advanced    bool        `json:"advanced"`    // the target's versions were advanced for that
	Continued   bool        `json:"continued"`   // an earlier call had copied something
	Directories []Directory `json:"directories"` // what was compared
	Lock        string      `json:"lock"`        // of the source: the argument of fdbcli unlock; "" if it is not shared
	Services    []Service   `json:"services"`    // that grant no leases for a while
	Members     int         `json:"members"`     // of the cluster of actors, which were removed
}

// Service is a service of leases that grants none for a while.
type Service struct {
	Name  string    `json:"name"`
	Until time.Time `json:"until"`
}

// advancer is an engine that can advance its versions.
type advancer interface {
	// AdvanceVersion makes all versions from now on higher than above.
	AdvanceVersion(ctx context.Context, above int64) error
}

// move is a move under way.
type move struct {
	from, to End
	engine   kv.Database // of the target
	options  Options
	state    state // as the target has it
	result   Result
}

func newMove(from, to End, o Options) *move {
	m := &move{from: from, to: to, engine: to.DB, options: o}
	settings := kv.TransactionOptions{Priority: cmp.Or(o.Priority, kv.PriorityBatch)}
	m.from.DB, m.to.DB = kv.With(from.DB, settings), kv.With(to.DB, settings)
	return m
}

// Run moves the database from into to. If it fails or ctx ends, another call with the same ends
// goes on where it was; what it has done so far is in the target. Programs that use the source must
// have ended, or fail from the first step on: a source that is shared is locked, and stays locked.
// A target that is shared is locked until it is complete.
//
// Memory: a few batches of about 1 MB, and some hundred bytes for each directory. Errors:
// [ErrNotEmpty], [ErrOther], [ErrVersions], [ErrDiffers], [ErrLocked], and those of the engines.
func Run(ctx context.Context, from, to End, o Options) (*Result, error) {
	if o.batch == 0 {
		o.batch = batchSize
	}
	m := newMove(from, to, o)
	for _, step := range []func(context.Context) error{m.checkSource, m.begin, m.lockSource, m.advance, m.copy, m.compare, m.renew, m.finish} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("moving %s to %s: %w", from.Name, to.Name, err)
		}
	}
	return &m.result, nil
}

// checkSource refuses a source that is itself the target of an unfinished move.
func (m *move) checkSource(ctx context.Context) error {
	return transact(ctx, m.from.DB, func(tx kv.Transaction) error {
		value, err := readState(ctx, tx, m.from)
		if err == nil && value != nil {
			err = fmt.Errorf("%w: one into %s, which would be the source; finish that first, or give it up", ErrOther, m.from.Name)
		}
		return err
	})
}

// begin notes the move in the target, which must be empty, or finds it noted there.
func (m *move) begin(ctx context.Context) error {
	var id [lockSize]byte
	_, _ = rand.Read(id[:]) // it never fails
	return transact(ctx, m.to.DB, func(tx kv.Transaction) error {
		pairs, err := tx.GetRange(userKeys().Selectors(), kv.RangeOptions{Limit: 1}).Slice(ctx)
		if err != nil {
			return err
		}
		value, err := readState(ctx, tx, m.to)
		if err != nil {
			return err
		}
		switch {
		case value != nil:
			err = m.resume(value)
		case len(pairs) > 0:
			err = fmt.Errorf("%w: %s has the key %q; a move needs a database without keys. One that has ended cannot be repeated into its target, nor can one after its target was unlocked", ErrNotEmpty, m.to.Name, pairs[0].Key)
		default:
			m.state = state{from: m.from.Name, lock: id[:], next: []byte{}}
		}
		if err != nil {
			return err
		}
		tx.Set([]byte(stateKey), m.state.encode())
		return m.lock(ctx, tx, m.to)
	})
}

// resume goes on with a move that has begun. One that was interrupted after the comparison copies
// again.
func (m *move) resume(value []byte) error {
	if err := m.readMove(value); err != nil {
		return err
	}
	m.result.Continued = len(m.state.next) > 0
	switch m.state.stage {
	case givenUp:
		return fmt.Errorf("%w: the one from %s into %s was given up, which is unfinished: repeat that with --abandon", ErrOther, m.from.Name, m.to.Name)
	case compared: // programs may have written to the source since, and the target was renewed
		m.state.next, m.state.stage = []byte{}, copying
	}
	return nil
}

// readMove takes over the stored state of a move, which must be one between these two.
func (m *move) readMove(value []byte) (err error) {
	m.state, err = decodeState(value)
	if err == nil && m.state.from != m.from.Name {
		err = fmt.Errorf("%w: one from %s into %s; finish that, or give it up", ErrOther, m.state.from, m.to.Name)
	}
	return err
}

// lockSource keeps others from writing to the source, and reads the version that it has reached.
func (m *move) lockSource(ctx context.Context) error {
	if m.from.Shared {
		m.result.Lock = lockName(m.state.lock)
		if err := transact(ctx, m.from.DB, func(tx kv.Transaction) error { return m.lock(ctx, tx, m.from) }); err != nil {
			return err
		}
	}
	return transact(ctx, m.from.DB, func(tx kv.Transaction) (err error) {
		m.result.Version, err = tx.GetReadVersion().Get(ctx)
		return err
	})
}

// advance brings the target's versions above those of the source.
func (m *move) advance(ctx context.Context) error {
	now, err := m.targetVersion(ctx)
	if err != nil || now > m.result.Version {
		return err
	}
	engine, can := m.engine.(advancer)
	if !can {
		return fmt.Errorf("%w: they have come to %d, and the source to %d", ErrVersions, now, m.result.Version)
	}
	m.result.Advanced = true
	return engine.AdvanceVersion(ctx, m.result.Version)
}

func (m *move) targetVersion(ctx context.Context) (now int64, err error) {
	err = transact(ctx, m.to.DB, func(tx kv.Transaction) error {
		now, err = tx.GetReadVersion().Get(ctx)
		return err
	})
	return now, err
}

// Abandon gives up an unfinished move: it ends the locks that the move has made, and then removes all
// keys of the target. The source stays as it is; its DB is not used unless it is shared. Another
// process that goes on with the move fails. If it fails itself it can be repeated, and the move cannot go
// on. Errors: [ErrNone], [ErrOther] if the move is from another source, [ErrLocked], and those of the engines.
func Abandon(ctx context.Context, from, to End) error {
	m := newMove(from, to, Options{})
	for _, step := range []func(context.Context) error{m.noteGivenUp, m.releaseSource, m.empty} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("giving up the move from %s to %s: %w", from.Name, to.Name, err)
		}
	}
	return nil
}

// noteGivenUp notes in the target that the move was given up. From then on no process goes on with it, so
// that the source can be unlocked.
func (m *move) noteGivenUp(ctx context.Context) error {
	return transact(ctx, m.to.DB, func(tx kv.Transaction) error {
		value, err := readState(ctx, tx, m.to)
		if err == nil && value == nil {
			err = fmt.Errorf("%w into %s", ErrNone, m.to.Name)
		}
		if err == nil {
			err = m.readMove(value)
		}
		if err == nil {
			err = m.checkLocked(ctx, tx, m.to)
		}
		if err != nil {
			return err
		}
		m.state.stage = givenUp
		tx.Set([]byte(stateKey), m.state.encode())
		return nil
	})
}

// releaseSource ends the lock of the source if it is that of the move.
func (m *move) releaseSource(ctx context.Context) error {
	if !m.from.Shared {
		return nil
	}
	return transact(ctx, m.from.DB, func(tx kv.Transaction) error {
		err := m.unlock(ctx, tx, m.from)
		if errors.Is(err, ErrLocked) {
			return nil
		}
		return err
	})
}

// empty makes the target an empty database, unless another process has done that.
func (m *move) empty(ctx context.Context) error {
	return transact(ctx, m.to.DB, func(tx kv.Transaction) error {
		value, err := tx.Get([]byte(stateKey)).Get(ctx)
		if err == nil && value == nil {
			return nil
		}
		if err := m.checkTarget(ctx, tx, value, err); err != nil {
			return err
		}
		tx.ClearRange(userKeys())
		tx.Clear([]byte(stateKey))
		return m.unlock(ctx, tx, m.to)
	})
}

// finish opens the target for programs.
func (m *move) finish(ctx context.Context) error {
	now, err := m.targetVersion(ctx)
	if err == nil && now <= m.result.Version {
		err = fmt.Errorf("%w: they have come to %d, and the source to %d", ErrVersions, now, m.result.Version)
	}
	if err != nil {
		return err
	}
	return transactUnsure(ctx, m.to.DB, func(tx kv.Transaction, maybeCommitted bool) error {
		value, err := tx.Get([]byte(stateKey)).Get(ctx)
		if err == nil && value == nil && maybeCommitted {
			return m.checkFilled(ctx, tx)
		}
		if err := m.checkTarget(ctx, tx, value, err); err != nil {
			return err
		}
		tx.Clear([]byte(stateKey))
		if err := m.unlock(ctx, tx, m.to); err != nil {
			return err
		}
		return directory.Invalidate(ctx, tx) // programs that had found the target empty read directories again
	})
}

// checkFilled returns an error if the target that is no longer this move's has no keys: another process has given
// the move up, and the commit that got no answer has failed.
func (m *move) checkFilled(ctx context.Context, tx kv.ReadTransaction) error {
	pairs, err := tx.GetRange(userKeys().Selectors(), kv.RangeOptions{Limit: 1}).Slice(ctx)
	if err == nil && len(pairs) == 0 && len(m.result.Directories) > 0 {
		err = m.checkState(nil)
	}
	return err
}
