// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/ui/job"
	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// Handler serves the page over a database. It is safe for concurrent use.
type Handler struct {
	db      *persistable.DB
	options Options
	guard   *access.Guard
	stores  *storePages
	sizes   *sizePages
	jobs    *jobPages
	leases  *leasePages
	pulse   *pulse
	samples *sampler // nil for an engine without metrics
	pages   http.Handler
	ended   context.Context // done when the handler is closed: it ends streams
	end     context.CancelFunc
	closed  sync.Once
}

// New returns a handler over db. Close it before db.
func New(db *persistable.DB, o Options) (*Handler, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	if db == nil {
		return nil, errors.New("ui: there is no database")
	}
	guard, err := access.New(o.Access)
	if err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	leases, err := leasefdb.New(db.Engine(), leasefdb.Options{})
	if err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	o = o.withDefaults()
	h := &Handler{
		db: db, options: o, guard: guard, stores: &storePages{db, o.MaxStores}, sizes: &sizePages{db, o.SizeWithin},
		jobs: &jobPages{job.NewSet()}, leases: &leasePages{leases},
	}
	h.ended, h.end = context.WithCancel(context.Background())
	h.pulse = &pulse{engine: db.Engine(), database: cmp.Or(o.Database, "the database"), remedy: o.Remedy, ended: h.ended}
	h.samples = startSampler(db.Engine(), o.SampleEvery)
	h.pages = guard.Protect(h.routes(), http.HandlerFunc(serveClosed))
	return h, nil
}

// Link returns the address that opens the page, on a server at origin: scheme://host:port.
func (h *Handler) Link(origin string) string { return h.guard.Link(origin) }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.pages.ServeHTTP(w, r) }

// Close ends what runs in the background, and waits for it. Further calls do nothing.
func (h *Handler) Close() { h.closed.Do(h.stop) }

func (h *Handler) stop() {
	h.end()
	h.jobs.set.Close()
	h.pulse.close()
	h.samples.close()
}

// Options configure a Handler. The zero value is ready to use, and reads only.
type Options struct {
	// Access says which requests are answered.
	Access access.Options
	// Database names the database, for the heading of the page and for messages.
	Database string
	// Remedy says what to do when the database does not answer, in sentences.
	Remedy string
	// Write lets the page change the database.
	Write bool
	// SampleEvery is how often the engine's metrics are sampled, from 10 ms. The default value is
	// a second. The last 600 samples are kept.
	SampleEvery time.Duration
	// SizeWithin is how long one measurement of sizes may take: of a directory, or of one tenant in
	// a list. The default value is two seconds, since a version can be read for five. What takes
	// longer is missing, and the page says so.
	SizeWithin time.Duration
	// MaxStores is how many stores one request looks at. The default value is 500. The page says
	// where there are more.
	MaxStores int
}

const shortest = 10 * time.Millisecond

// Validate reports all faults of the options.
func (o Options) Validate() error {
	faults := []error{o.Access.Validate()}
	if o.SampleEvery != 0 && o.SampleEvery < shortest {
		faults = append(faults, fmt.Errorf("SampleEvery: %v is less than %v", o.SampleEvery, shortest))
	}
	if o.SizeWithin < 0 {
		faults = append(faults, fmt.Errorf("SizeWithin: %v is negative", o.SizeWithin))
	}
	if o.MaxStores < 0 {
		faults = append(faults, fmt.Errorf("MaxStores: %d is negative", o.MaxStores))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.SampleEvery == 0 {
		o.SampleEvery = time.Second
	}
	if o.SizeWithin == 0 {
		o.SizeWithin = 2 * time.Second
	}
	if o.MaxStores == 0 {
		o.MaxStores = 500
	}
	return o
}

// views are the paths of the page; the script in it shows the view of its path.
var views = []string{"{$}", "directories", "tenants", "types", "records", "record", "indexes", "schema", "changes", "leases", "sizes", "metrics"}

// verb answers a request with a value that becomes JSON, or with an error.
type verb func(r *http.Request) (any, error)

func (h *Handler) routes() http.Handler {
	mux := http.NewServeMux()
	for _, view := range views {
		mux.HandleFunc("GET /"+view, servePage)
	}
	mux.HandleFunc("GET /static/{file...}", serveStatic)
	records, indexes := &recordPages{h.stores}, &indexPages{h.stores, h.jobs}
	tenants, changes := &tenantPages{h.stores, h.sizes, h.jobs}, &changePages{h.stores, h.pulse, h.ended}
	for path, do := range map[string]verb{ // these answer while the database does not
		"info": h.info, "health": h.health, "decode": decode, "metrics": h.samples.metrics, "jobs": h.jobs.list,
	} {
		mux.HandleFunc("GET /api/"+path, answer(do))
	}
	for path, do := range map[string]verb{
		"state": h.state, "directories": h.sizes.listDirectories, "directory": h.sizes.showDirectory, "sizes": h.sizes.showSizes,
		"sets": tenants.listSets, "tenants": tenants.list, "tenant": tenants.show,
		"types": h.stores.list, "schema": h.stores.schema, "history": h.stores.history, "records": records.list, "record": records.show,
		"indexes": indexes.list, "leases": h.leases.list,
	} {
		mux.HandleFunc("GET /api/"+path, answer(h.pulse.guard(do)))
	}
	mux.HandleFunc("GET /api/changes", changes.stream)
	mux.HandleFunc("POST /api/jobs/cancel", answer(h.jobs.cancel))
	mux.HandleFunc("POST /api/indexes/verify", answer(h.pulse.guard(indexes.verify)))
	for path, do := range map[string]verb{
		"record/save": records.save, "record/delete": records.delete, "indexes/build": indexes.build, "indexes/repair": indexes.repair,
		"indexes/drop": indexes.drop, "tenant/lock": tenants.lock, "tenant/unlock": tenants.unlock, "tenant/remove": tenants.remove,
	} {
		mux.HandleFunc("POST /api/"+path, answer(h.onlyWriting(h.pulse.guard(do))))
	}
	return mux
}

// onlyWriting refuses the verb unless the page may write.
func (h *Handler) onlyWriting(do verb) verb {
	if h.options.Write {
		return do
	}
	return func(*http.Request) (any, error) {
		return nil, &statusError{http.StatusForbidden, errors.New("the page is open for reading only: start it with --write to change the database")}
	}
}

var errNoSession = errors.New("the session has ended: open the link that the command printed")

// info is what the page shows of the database at every view.
type info struct {
	Database string `json:"database"`
	Engine   string `json:"engine"` // embedded or cluster
	Write    bool   `json:"write"`
}

func (h *Handler) info(*http.Request) (any, error) {
	i := info{Database: h.options.Database, Engine: "cluster", Write: h.options.Write}
	if h.samples != nil {
		i.Engine = "embedded"
	}
	return i, nil
}

// state is what the page shows of the database as a whole.
type state struct {
	Version string `json:"version"` // the version that is read, in decimal
	Bytes   int64  `json:"bytes"`   // by the engine's estimate
}

func (h *Handler) state(r *http.Request) (any, error) {
	var s state
	err := h.db.Engine().ReadTransact(r.Context(), func(tx kv.ReadTransaction) error {
		v, err := tx.GetReadVersion().Get(r.Context())
		if err != nil {
			return err
		}
		s.Version = decimal(v)
		s.Bytes, err = h.sizes.newMeasurement(tx).sizeOf(r.Context(), allKeys)
		return err
	})
	return s, err
}

// health is what the page shows of the health of a cluster.
type health struct {
	Health  *cluster.Health `json:"health,omitempty"`
	Faults  []cluster.Fault `json:"faults"`
	Unknown string          `json:"unknown,omitempty"` // why there is none
}

// statusWithin is how long the client of a cluster may take to tell its status.
const statusWithin = 5 * time.Second

var errNoStatus = fmt.Errorf("its client has told nothing of it within %v", statusWithin)

func (h *Handler) health(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), statusWithin, errNoStatus)
	defer cancel()
	status, err := cluster.Read(ctx, h.db.Engine())
	if errors.Is(err, errNoStatus) {
		err = errNoStatus
	}
	if err != nil {
		return health{Faults: []cluster.Fault{}, Unknown: err.Error()}, nil //nolint:nilerr // the page says so
	}
	return health{Health: &status.Health, Faults: append([]cluster.Fault{}, status.Health.Faults()...)}, nil
}

// allKeys are the keys that programs may use.
var allKeys = kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}
