// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/internal/redact"
	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/studio/internal/job"
)

// Handler serves the page over a database. It is safe for concurrent use.
type Handler struct {
	db      *persistable.DB
	options Options
	guard   *access.Guard
	engine  *remote.Handler // serves transactions to the command
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

// New returns a handler over db, which reads from now on: close it before db. It fails if the options are not
// valid.
func New(db *persistable.DB, o Options) (*Handler, error) {
	if db == nil {
		return nil, errors.New("studio: there is no database")
	}
	guard, err := access.New(o.access())
	if err != nil {
		return nil, fmt.Errorf("studio: %w", err)
	}
	leases, err := leasefdb.New(db.Engine(), leasefdb.Options{})
	if err != nil {
		return nil, fmt.Errorf("studio: %w", err)
	}
	o = o.withDefaults()
	h := &Handler{
		db: db, options: o, guard: guard, stores: &storePages{db, o.maxStores}, sizes: &sizePages{db, o.sizeWithin},
		jobs: &jobPages{job.NewSet()}, leases: &leasePages{leases},
	}
	h.ended, h.end = context.WithCancel(context.Background())
	h.pulse = &pulse{engine: db.Engine(), database: cmp.Or(o.Database, "the database"), remedy: o.Remedy, ended: h.ended}
	h.samples = startSampler(db.Engine(), sampleEvery)
	h.engine = remote.NewHandler(db.Engine(), h.engineKind(), o.Write)
	h.pages = guard.Protect(h.routes(), http.HandlerFunc(serveClosed))
	return h, nil
}

// Link returns the address that opens the page. Base is where it is mounted, with a slash at its end, such as
// http://localhost:8081/studio/. The link has the token: it is a secret, too.
func (h *Handler) Link(base string) string { return h.guard.Link(base) }

// ServeHTTP implements [http.Handler]. The path of the request is that below the page: see [http.StripPrefix].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "" { // the prefix without its slash, next to which the page would look for its files
		whole, query, _ := strings.Cut(r.RequestURI, "?")
		w.Header().Set("Location", (&url.URL{Path: path.Base(whole) + "/", RawQuery: query}).String())
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	if r.URL.Path == remote.Path {
		h.serveTransactions(w, r)
		return
	}
	h.pages.ServeHTTP(w, r)
}

// serveTransactions serves the database to a program that has the token, such as kazahana --attach.
func (h *Handler) serveTransactions(w http.ResponseWriter, r *http.Request) {
	if status, why := h.guard.CheckProgram(r); status != 0 {
		http.Error(w, why, status)
		return
	}
	h.engine.ServeHTTP(w, r)
}

// Close ends streams and what runs in the background, and waits for the latter. Call it before
// [http.Server.Shutdown], which waits for streams. Further calls do nothing.
func (h *Handler) Close() { h.closed.Do(h.stop) }

func (h *Handler) stop() {
	h.end()
	h.engine.Close()
	h.jobs.set.Close()
	h.pulse.close()
	h.samples.close()
}

// Options configure a Handler.
type Options struct {
	// Token opens the page: 32 characters or more without spaces, "&", "#", "%" and "+", such as openssl rand -hex 32
	// prints. It lets read the whole database, and with Write change it: take it from the environment or a
	// file. It is not printed or logged.
	Token string

	// Hosts are values of the header Host that are answered, besides loopback addresses and localhost with any
	// port: admin.example.com:8081, or admin.example.com for the port of the scheme. A page of another site sends its
	// own name, even if that name was pointed at this machine.
	Hosts []string

	// Write lets the page change the database. The default is that it reads only.
	Write bool

	// Database names the database, for the heading of the page and for messages.
	Database string

	// Remedy says what to do when the database does not answer, in sentences.
	Remedy string

	sizeWithin time.Duration // how long one measurement of sizes may take; what takes longer is missing, and the page says so
	maxStores  int           // how many stores one request looks at; the page says where there are more
}

// sampleEvery is how often the metrics of the embedded engine are sampled.
const sampleEvery = time.Second

// Validate reports all faults of the options.
func (o Options) Validate() error { return o.access().Validate() }

func (o Options) access() access.Options { return access.Options{Token: o.Token, Hosts: o.Hosts} }

func (o Options) withDefaults() Options {
	if o.sizeWithin == 0 {
		o.sizeWithin = 2 * time.Second // a version can be read for five
	}
	if o.maxStores == 0 {
		o.maxStores = 500
	}
	return o
}

// Format implements [fmt.Formatter]: it prints the options without the token.
func (o Options) Format(f fmt.State, verb rune) { redact.Format(f, verb, o.withoutSecret()) }

// LogValue implements [slog.LogValuer]: it logs the options without the token.
func (o Options) LogValue() slog.Value { return slog.AnyValue(o.withoutSecret()) }

func (o Options) withoutSecret() any {
	type options = Options
	type Options options // the name that %#v prints
	o.Token = redact.Secret(o.Token)
	return Options(o)
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
	mux.HandleFunc("GET /api/records/export", h.export(records))
	mux.HandleFunc("POST /api/jobs/cancel", answer(h.jobs.cancel))
	mux.HandleFunc("POST /api/indexes/verify", answer(h.pulse.guard(indexes.verify)))
	for path, do := range map[string]verb{
		"record/create": records.create, "record/save": records.save, "record/delete": records.delete, "indexes/build": indexes.build, "indexes/repair": indexes.repair,
		"indexes/drop": indexes.drop, "tenant/lock": tenants.lock, "tenant/unlock": tenants.unlock, "tenant/remove": tenants.remove,
	} {
		mux.HandleFunc("POST /api/"+path, answer(h.onlyWriting(h.pulse.guard(do))))
	}
	return mux
}

// export answers with a file, or with an error.
func (h *Handler) export(records *recordPages) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		failed := func(r *http.Request) (any, error) { return nil, records.export(w, r) }
		if _, err := h.pulse.guard(failed)(r); err != nil {
			answer(func(*http.Request) (any, error) { return nil, err })(w, r)
		}
	}
}

// onlyWriting refuses the verb unless the page may write.
func (h *Handler) onlyWriting(do verb) verb {
	if h.options.Write {
		return do
	}
	return func(*http.Request) (any, error) {
		return nil, &statusError{http.StatusForbidden, errors.New("the page reads only: it changes the database if kazahana ui was started with --write, or with studio.Options.Write")}
	}
}

var errNoSession = errors.New("the session has ended: load the page again, and enter the token")

// info is what the page shows of the database at every view.
type info struct {
	Database string `json:"database"`
	Engine   string `json:"engine"` // embedded or cluster
	Write    bool   `json:"write"`
}

func (h *Handler) info(*http.Request) (any, error) {
	return info{Database: h.options.Database, Engine: h.engineKind(), Write: h.options.Write}, nil
}

// engineKind returns embedded or cluster.
func (h *Handler) engineKind() string {
	served, ok := h.db.Engine().(*remote.Database)
	if h.samples != nil || ok && served.Engine() == remote.Embedded {
		return remote.Embedded
	}
	return "cluster"
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
