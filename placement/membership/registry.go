// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// DefaultDuration is how long the lease of a member lasts without renewal unless
// [Options.Duration] says otherwise.
const DefaultDuration = 10 * time.Second

// Options configure a [Registry]. The zero value is ready to use.
type Options struct {
	// Duration is how long a member may not renew its lease before others take it for
	// dead, from 100 ms to an hour. It should be many times a transaction's latency, a
	// recovery of the database and a pause of the process. All members use the same. The default
	// value is DefaultDuration, 10 s.
	Duration time.Duration
	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the members. All processes of a cluster use the same. The
	// default value is kazahana/members.
	Path []string
	// Logger is told of evictions and of looks that failed. The default value
	// discards.
	Logger *slog.Logger
}

const (
	minDuration = 100 * time.Millisecond
	maxDuration = time.Hour
)

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	o = o.withDefaults()
	var faults []error
	if o.Duration < minDuration || o.Duration > maxDuration {
		faults = append(faults, fmt.Errorf("membership: Duration is %v, must be from %v to %v", o.Duration, minDuration, maxDuration))
	}
	if len(o.Path) == 0 {
		faults = append(faults, errors.New("membership: Path is empty: the members need a directory of their own"))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Duration == 0 {
		o.Duration = DefaultDuration
	}
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "members"}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Registry are the members in one directory of a database. It is safe for
// concurrent use.
type Registry struct {
	db      kv.Database
	options Options
	names   *leasefdb.Names
	dirs    *directory.Cache
}

// New returns the members of db. Nothing is read or written: the first process that
// joins or watches creates the directory.
func New(db kv.Database, o Options) (*Registry, error) {
	if db == nil {
		return nil, errors.New("membership: the database is nil")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	names, err := leasefdb.NewNames(db, o.Layer, o.Path...)
	if err != nil {
		return nil, fmt.Errorf("membership: %w", err)
	}
	dirs, err := directory.NewCache(o.Layer, db, directory.CacheOptions{})
	if err != nil {
		return nil, fmt.Errorf("membership: %w", err)
	}
	return &Registry{db: db, options: o, names: names, dirs: dirs}, nil
}

// createKeys returns the keys of the directory, which it creates if there is none.
func (r *Registry) createKeys(ctx context.Context, tx kv.Transaction) (keys, error) {
	return keysOf(r.dirs.CreateOrOpen(ctx, tx, r.options.Path))
}

// openKeys returns the keys of the directory, and whether there is one.
func (r *Registry) openKeys(ctx context.Context, tx kv.ReadTransaction) (k keys, found bool, err error) {
	d, err := r.dirs.OpenRead(ctx, tx, r.options.Path)
	if errors.Is(err, directory.ErrNotFound) {
		return k, false, nil
	}
	k, err = keysOf(d, err)
	return k, err == nil, err
}

// Topology returns the members, by name; the version is 0 if there never was one.
// Given a transaction, it reads in that, without conflicts. One round of reads. If rows cannot be
// read it returns the other members, and an [ErrCorrupt] for each, joined.
func (r *Registry) Topology(ctx context.Context, t kv.ReadTransactor) (placement.Topology, error) {
	var damaged error
	topology, err := kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (placement.Topology, error) {
		damaged = nil
		k, found, err := r.openKeys(ctx, tx)
		if err != nil || !found {
			return placement.Topology{}, err
		}
		version := k.startVersion(tx)
		t, all, err := k.readTopology(ctx, tx)
		if err != nil {
			return t, err
		}
		if t.Version, err = version(ctx); err != nil {
			return t, err
		}
		damaged = errors.Join(all.damaged...)
		return t, nil
	})
	return topology, errors.Join(err, damaged)
}

// StartAlive begins to read whether an owner is a member, for the claims of activations. The
// read is serializable: it conflicts with the end of the owner, and not with its renewals.
func (r *Registry) StartAlive(ctx context.Context, tx kv.ReadTransaction, owner placement.Owner) func(context.Context) (bool, error) {
	holding := r.names.StartHolder(ctx, tx, owner.Name)
	return func(ctx context.Context) (bool, error) {
		state, err := holding(ctx)
		return err == nil && state.Held() && state.Epoch == owner.Incarnation, err
	}
}

// Join makes the process a member, under an incarnation that the name has never had. It
// waits for the lease of a predecessor that died, at most [Options.Duration]; after a clean
// leave it waits for nothing. If another member has the name and renews its lease, the error is an
// [ErrNameTaken]; that is noticed at its next renewal. ctx bounds the waiting; its values are those of
// [Member.Context], its end is not. One transaction, if it does not have to wait.
//
// If ctx ends while a claim is under way, the error wraps [kv.ErrOutcomeUnknown]: the name
// may then be held until the lease lapses.
func (r *Registry) Join(ctx context.Context, self Self) (*Member, error) {
	return r.join(ctx, self, nil)
}

// join joins, in the place of the lost membership before if there is one.
func (r *Registry) join(ctx context.Context, self Self, before *Member) (*Member, error) {
	if err := self.Validate(); err != nil {
		return nil, err
	}
	claim := leasefdb.Claim{Duration: r.options.Duration, RequestID: rand.Text()}
	for {
		m, err := r.tryJoin(ctx, self, claim, before)
		held, taken := leasefdb.HeldBy(err)
		if !taken {
			return m, err
		}
		if wasRenewed(claim.Seen.State(), held) {
			return nil, nameTaken(held, err)
		}
		claim.Seen = claim.Seen.Observe(held, time.Now())
		if err := r.awaitName(ctx, held, claim.Seen); err != nil {
			return nil, fmt.Errorf("membership: gave up waiting for the lease of %q to end: %w", self.Name, err)
		}
	}
}

// newClusterID returns a random id of a cluster.
func newClusterID() []byte {
	id := make([]byte, ClusterIDSize)
	_, _ = rand.Read(id) // it never fails
	return id
}

// wasRenewed reports whether a lease was renewed between two looks.
func wasRenewed(before, now leasefdb.State) bool {
	return before.Held() && before.Epoch == now.Epoch && before.Revision != now.Revision
}

// tryJoin claims the name, which a membership before gives back, and registers the member, in one transaction.
func (r *Registry) tryJoin(ctx context.Context, self Self, claim leasefdb.Claim, before *Member) (*Member, error) {
	row, newID := self.newRow(), newClusterID()
	grant, err := kv.Transact(ctx, r.db, func(tx kv.Transaction) (leasefdb.Grant, error) {
		k, err := r.createKeys(ctx, tx)
		if err != nil {
			return leasefdb.Grant{}, err
		}
		cluster := k.startCluster(tx)
		if before != nil {
			if err := before.lease.Grant().Release(ctx, tx); err != nil {
				return leasefdb.Grant{}, err
			}
		}
		grant, err := r.names.Claim(ctx, tx, self.Name, claim)
		if err != nil {
			return grant, err
		}
		if id, err := cluster(ctx); err != nil {
			return grant, err
		} else if id == "" {
			tx.Set(k.cluster(), newID)
		}
		row.Incarnation = grant.Epoch
		tx.Set(k.member(self.Name), row.encode())
		k.bumpVersion(tx)
		return grant, nil
	})
	if err != nil {
		return nil, err
	}
	return newMember(ctx, r, row, grant), nil
}

// awaitName waits until the lease of a name has lapsed, was renewed or was given back.
func (r *Registry) awaitName(ctx context.Context, held leasefdb.State, seen leasefdb.Observation) error {
	lapse := time.NewTimer(seen.Remaining(time.Now()))
	defer lapse.Stop()
	state, watch, err := r.names.Watch(ctx, r.db, held.Name)
	switch {
	case cannotWatch(err):
		watch = kv.NewPromise[struct{}]().Future() // it will lapse, or be found renewed then
	case err != nil:
		return err
	}
	defer func() { watch.Cancel() }()
	if err == nil && state != held {
		return nil
	}
	select {
	case <-watch.Done():
		if _, failed := watch.Get(ctx); failed == nil {
			return nil
		}
	case <-lapse.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select { // the watch has failed
	case <-lapse.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var (
	// ErrNameTaken says that a member of the name is alive. Give each process a name of its
	// own. The error wraps a [leasefdb.ErrHeld].
	ErrNameTaken = errors.New("membership: another member has the name")
	// ErrCorrupt says that what is stored cannot be used: it is damaged, or, if the error is
	// a persistable.ErrNewer, a newer version wrote it. The text names the key and the remedy.
	ErrCorrupt = errors.New("membership: a stored value cannot be used")
	// ErrLeft is the cause of the end of [Member.Context] after [Member.Leave].
	ErrLeft = errors.New("membership: the member has left")
	// ErrVersionFell says that the topology's version is smaller than it was: the
	// directory was removed, or the database restored from a backup. Placement by
	// versions is void; restart the programs.
	ErrVersionFell = errors.New("membership: the topology's version is smaller than it was: the directory of the members was removed, or the database restored from a backup; restart the programs of the cluster")
)

// corruptError is the [ErrCorrupt] of a key in the database.
func corruptError(key []byte, err error) error {
	if errors.Is(err, newer.Err) {
		return fmt.Errorf("%w: that of key %s: %w", ErrCorrupt, tuple.Describe(key), err)
	}
	return fmt.Errorf("%w: that of key %s is damaged: restore it from a backup: %w", ErrCorrupt, tuple.Describe(key), err)
}

// mayPass reports whether an error of the database may pass: it comes from the engine,
// or tells nothing but that an outcome is unknown.
func mayPass(err error) bool {
	retry := new(kv.RetryError)
	return kv.CodeOf(err) != 0 || errors.As(err, &retry) || errors.Is(err, kv.ErrOutcomeUnknown)
}

// cannotWatch reports whether the engine refuses a watch.
func cannotWatch(err error) bool {
	code := kv.CodeOf(err)
	return code == kv.CodeTooManyWatches || code == kv.CodeWatchesDisabled
}

// nameTaken is the error of a second member of a name.
func nameTaken(by leasefdb.State, held error) error {
	alive := placement.Owner{Name: by.Name, Incarnation: by.Epoch}
	return fmt.Errorf("%w: %v is alive; give each process a name of its own: %w", ErrNameTaken, alive, held)
}
