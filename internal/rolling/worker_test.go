// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/bazaar/older"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// workerVariable makes the test's program a worker.
const workerVariable = "KAZAHANA_ROLLING_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) == "" {
		os.Exit(m.Run())
	}
	w := &Worker{ctx: context.Background()}
	server := rpc.NewServer()
	if err := server.Register(w); err != nil {
		panic(err)
	}
	server.ServeCodec(jsonrpc.NewServerCodec(stdio{os.Stdin, os.Stdout})) // until its input ends
	if err := w.close(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// stdio is the connection of a worker and its test. Close ends what the other one reads.
type stdio struct {
	io.Reader
	io.WriteCloser
}

// Worker is a process that uses a database as the test asks it to. Its exported methods
// are called by net/rpc, several at a time.
type Worker struct {
	ctx    context.Context
	newer  bool // it has bazaar.Account, not older.Account
	engine kv.Database
	db     *persistable.DB
}

// Place says where the database is, and which program the worker is.
type Place struct {
	Folder, Address, Cluster string // one of them
	Prefix                   []byte // in the cluster
	Newer                    bool
}

// Empty stands for a call without an argument or without an answer.
type Empty struct{}

func (p Place) open() (kv.Database, error) {
	switch {
	case p.Folder != "":
		return embedded.Open(p.Folder)
	case p.Address != "":
		return remote.Dial(p.Address)
	}
	db, err := fdbkv.Open(p.Cluster)
	if err != nil {
		return nil, err
	}
	return enginetest.Below(db, p.Prefix), nil
}

// Open opens the database.
func (w *Worker) Open(p Place, _ *Empty) (err error) {
	w.newer = p.Newer
	if w.engine, err = p.open(); err != nil {
		return err
	}
	w.db, err = persistable.Open(w.ctx, w.engine)
	return err
}

func (w *Worker) close() error {
	if w.db == nil {
		return nil
	}
	return errors.Join(w.db.Close(), w.engine.Close())
}

// Build builds what the indexes of a tenant's stores lack.
func (w *Worker) Build(tenant string, _ *Empty) error {
	accounts := older.AccountStoreOf(w.db, tenant).Indexes()
	if w.newer {
		accounts = bazaar.AccountStoreOf(w.db, tenant).Indexes()
	}
	return errors.Join(accounts.Build(w.ctx, persistable.BuildOptions{}), bazaar.OrderStoreOf(w.db, tenant).Indexes().Build(w.ctx, persistable.BuildOptions{}))
}

// Create creates an order, and returns it with its ID.
func (w *Worker) Create(o bazaar.Order, created *bazaar.Order) error {
	store := bazaar.OrderStoreOf(w.db, o.TenantID)
	*created = *store.New(o)
	return store.Create(w.ctx, created)
}

// CreateTwice checks that an order with a number that another one has is refused.
func (w *Worker) CreateTwice(o bazaar.Order, _ *Empty) error {
	store := bazaar.OrderStoreOf(w.db, o.TenantID)
	var unique *persistable.UniqueError
	if err := store.Create(w.ctx, store.New(o)); !errors.As(err, &unique) {
		return fmt.Errorf("a second order with the number %s: %w, want a UniqueError", o.Number, err)
	}
	return nil
}

// Save saves an order over the version that it has.
func (w *Worker) Save(o bazaar.Order, _ *Empty) error {
	return bazaar.OrderStoreOf(w.db, o.TenantID).SaveIfVersion(w.ctx, o.Version, &o)
}

// Get returns the order with the tenant and ID of o, read by its ID or by its number.
func (w *Worker) Get(o bazaar.Order, found *bazaar.Order) error {
	store := bazaar.OrderStoreOf(w.db, o.TenantID)
	get := func() (*bazaar.Order, error) { return store.Get(w.ctx, o.ID) }
	if o.Number != "" {
		get = func() (*bazaar.Order, error) { return store.ByNumber(w.ctx, o.Number) }
	}
	record, err := get()
	if err == nil {
		*found = *record
	}
	return err
}

// Delete deletes an order, and checks that it is gone.
func (w *Worker) Delete(o bazaar.Order, _ *Empty) error {
	store := bazaar.OrderStoreOf(w.db, o.TenantID)
	if err := store.Delete(w.ctx, o.ID); err != nil {
		return err
	}
	if _, err := store.Get(w.ctx, o.ID); !errors.Is(err, persistable.ErrNotFound) {
		return fmt.Errorf("order %s after its deletion: %w, want ErrNotFound", o.ID, err)
	}
	return nil
}

// Count adds to a counter that all workers share.
func (w *Worker) Count(n uint64, _ *Empty) error {
	store := bazaar.CounterStoreOf(w.db)
	_, _, err := store.GetOrCreate(w.ctx, &bazaar.Counter{ID: 1, Name: "all"})
	if err != nil {
		return err
	}
	return store.Update(w.ctx, 1, func(c *bazaar.Counter) error { c.Value += n; return nil })
}

// Counted returns the value of the counter, 0 before the first Count.
func (w *Worker) Counted(_ Empty, n *uint64) error {
	c, err := bazaar.CounterStoreOf(w.db).ByName(w.ctx, "all")
	switch {
	case errors.Is(err, persistable.ErrNotFound):
		return nil
	case err == nil:
		*n = c.Value
	}
	return err
}

// Account is an account as the newer program has it.
type Account struct {
	ID, TenantID, Email, Name, Plan string
	Level                           int32
}

// PutAccount is what became of an account.
type PutAccount struct {
	ID    string
	Newer bool // its plan was written, too
}

// PutAccount creates an account or, if it has an ID, changes it.
func (w *Worker) PutAccount(a Account, done *PutAccount) (err error) {
	done.Newer = w.newer
	if w.newer {
		store := bazaar.AccountStoreOf(w.db, a.TenantID)
		done.ID, err = put(w.ctx, &store.Store, a.ID, store.New(bazaar.Account{}), func(r *bazaar.Account) string {
			r.Email, r.Level, r.Name, r.Plan = a.Email, int64(a.Level), &a.Name, a.Plan
			return r.ID
		})
		return err
	}
	store := older.AccountStoreOf(w.db, a.TenantID)
	done.ID, err = put(w.ctx, &store.Store, a.ID, store.New(older.Account{}), func(r *older.Account) string {
		r.Email, r.Level, r.Name = a.Email, a.Level, a.Name
		return r.ID
	})
	return err
}

// put changes the record with the ID or, if that is empty, creates the record fresh. It returns its ID, which set returns.
func put[T any](ctx context.Context, store *persistable.Store[T, string], id string, fresh T, set func(T) string) (string, error) {
	if id == "" {
		id = set(fresh)
		return id, store.Create(ctx, fresh)
	}
	return id, store.Update(ctx, id, func(r T) error { set(r); return nil })
}

// Change is a change of an order.
type Change struct {
	ID      idgen.ID
	Version persistable.Version
	Order   string // as [text] makes it; empty if it was deleted
}

// Follow takes the next changes of a tenant's orders from the feed, on which all workers are one consumer.
func (w *Worker) Follow(tenant string, changes *[]Change) error {
	consumer := bazaar.OrderStoreOf(w.db, tenant).Feed().Consumer("rolling").Limit(50)
	n, err := consumer.Next(w.ctx, func(_ persistable.Tx, next []persistable.Change[*bazaar.Order, idgen.ID]) error {
		*changes = []Change{}
		for _, c := range next {
			change := Change{ID: c.ID, Version: c.Version}
			if !c.Deleted {
				change.Order = text(c.Record)
			}
			*changes = append(*changes, change)
		}
		return nil
	})
	*changes = (*changes)[:n] // none if another worker took those of the first attempt, and none is left
	return err
}

// text returns an order without its version.
func text(o *bazaar.Order) string {
	without := *o
	without.Version = persistable.Version{}
	b, err := json.Marshal(without)
	if err != nil {
		panic(err) // no field of it can fail
	}
	return string(b)
}

// Part asks for a part of all orders of a tenant.
type Part struct {
	Tenant, Token string
	Across        bool // a scan across transactions, not a page
}

// Listing is a part of all orders.
type Listing struct {
	IDs  []idgen.ID
	Next string
}

// List lists a part of all orders.
func (w *Worker) List(p Part, l *Listing) error {
	q := bazaar.OrderStoreOf(w.db, p.Tenant).OrderedByStatusCreatedAt()
	if p.Across {
		scan := persistable.Across(q.Query(), p.Token)
		for o, err := range scan.All(w.ctx) {
			if err != nil {
				return err
			}
			if l.IDs = append(l.IDs, o.ID); len(l.IDs) == 7 {
				l.Next = scan.Token()
				return nil
			}
		}
		return nil
	}
	page, err := q.Limit(7).Page(w.ctx, p.Token)
	for _, o := range page.Records {
		l.IDs = append(l.IDs, o.ID)
	}
	l.Next = page.Next
	return err
}

// Export returns the stream of a tenant.
func (w *Worker) Export(tenant string, stream *[]byte) error {
	var b bytes.Buffer
	_, err := tenants.Of(w.db, "tenants").Export(w.ctx, tenant, &b, tenants.ExportOptions{})
	*stream = b.Bytes()
	return err
}

// Stream is an exported tenant, and the name under which to import it.
type Stream struct {
	Tenant string
	Stream []byte
}

// Import makes a tenant of a stream.
func (w *Worker) Import(s Stream, _ *Empty) error {
	_, err := tenants.Of(w.db, "tenants").Import(w.ctx, s.Tenant, bytes.NewReader(s.Stream), tenants.ImportOptions{})
	return err
}

// Remove removes a tenant, and returns those that are left.
func (w *Worker) Remove(tenant string, left *[]string) error {
	set := tenants.Of(w.db, "tenants")
	if err := set.Delete(w.ctx, tenant); err != nil {
		return err
	}
	for name, err := range set.List(w.ctx) {
		if err != nil {
			return err
		}
		*left = append(*left, name)
	}
	slices.Sort(*left)
	return nil
}
