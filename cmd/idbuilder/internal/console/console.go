// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// Options configure a Console. The zero value is useful.
type Options struct {
	// Session is how long a login lasts; 0 means 8 hours.
	Session time.Duration
	// Timeout bounds the time of a request; 0 means 30 seconds.
	Timeout time.Duration
	// SampleEvery is how often usage is sampled for the charts; 0 means 5 seconds. They
	// show the last 180 samples.
	SampleEvery time.Duration
	// SecureCookie marks the session's cookie Secure even if requests come without TLS: set it
	// behind a proxy that ends TLS. With TLS, and for requests with which a proxy sends
	// X-Forwarded-Proto: https, the cookie is always Secure.
	SecureCookie bool
	// Workers lists the live workers, as the controller knows them; nil: there is
	// no controller.
	Workers func(context.Context) (controller.Workers, error)
	// Address, Store and Version of this worker are shown on the first page; "": they are not.
	Address, Store, Version string

	Logger *slog.Logger     // nil means slog.Default
	Now    func() time.Time // nil means time.Now
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	var faults []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Session", o.Session}, {"Timeout", o.Timeout}, {"SampleEvery", o.SampleEvery}} {
		if d.value < 0 {
			faults = append(faults, fmt.Errorf("console: %s is %v, it cannot be negative", d.name, d.value))
		}
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value     *time.Duration
		byDefault time.Duration
	}{{&o.Session, 8 * time.Hour}, {&o.Timeout, 30 * time.Second}, {&o.SampleEvery, 5 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.byDefault
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Console is the http.Handler of /admin/. It is safe for concurrent use.
type Console struct {
	worker   *worker.Worker
	options  Options
	sessions sessions
	throttle throttle
	samples  *samples
	handler  http.Handler
	cancel   context.CancelFunc
	ended    chan struct{}
	begun    time.Time
}

// New returns the console of a worker. Sessions are kept in the store. Close ends its goroutine; a
// worker that has the console in its options closes it.
func New(w *worker.Worker, s store.Store, o Options) (*Console, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c := &Console{
		worker: w, options: o, begun: o.Now(), samples: newSamples(o.SampleEvery), ended: make(chan struct{}),
		sessions: sessions{store: s, lifetime: o.Session, now: o.Now},
	}
	c.handler = c.protect(c.newMux())
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.runSampling(ctx)
	return c, nil
}

// ServeHTTP implements http.Handler. It serves paths that begin with /admin/. All links
// are relative, so that a prefix may come before.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// Close implements io.Closer: it ends the sampling of usage.
func (c *Console) Close() error {
	c.cancel()
	<-c.ended
	return nil
}

func (c *Console) runSampling(ctx context.Context) {
	defer close(c.ended)
	tick := time.NewTicker(c.options.SampleEvery)
	defer tick.Stop()
	for {
		c.samples.takeSample(c.worker.KeyLoads())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// route is a page or an action of the console.
type route struct {
	pattern  string // of [http.ServeMux]; the path is "/admin/" and one word, so that relative links work
	fragment bool   // a script sends the request: without a session the answer is 401, not the login page
	serve    func(*visit) error
}

// sessionRoutes are the routes that need a session.
func (c *Console) sessionRoutes() []route {
	return []route{
		{pattern: "GET /admin/{$}", serve: c.showOverview},
		{pattern: "GET /admin/keys", serve: c.showKeys},
		{pattern: "GET /admin/key", serve: c.showKey},
		{pattern: "GET /admin/new", serve: c.showNew},
		{pattern: "GET /admin/edit", serve: c.showEdit},
		{pattern: "POST /admin/save", serve: c.saveForm},
		{pattern: "POST /admin/generate", serve: c.generateIDs},
		{pattern: "GET /admin/delete", serve: c.showDelete},
		{pattern: "POST /admin/delete", serve: c.deleteKey},
		{pattern: "POST /admin/token", serve: c.showToken},
		{pattern: "GET /admin/reset", serve: c.showReset},
		{pattern: "POST /admin/reset", serve: c.resetToken},
		{pattern: "GET /admin/access", serve: c.showAccess},
		{pattern: "GET /admin/workers", serve: c.showWorkers},
		{pattern: "POST /admin/preview", serve: c.showPreview, fragment: true},
		{pattern: "GET /admin/charts", serve: c.showCharts, fragment: true},
		{pattern: "POST /admin/logout", serve: c.endLogin},
	}
}

func (c *Console) newMux() http.Handler {
	mux := http.NewServeMux()
	for _, r := range c.sessionRoutes() {
		mux.HandleFunc(r.pattern, c.withSession(r))
	}
	mux.HandleFunc("GET /admin/login", c.publicHandler(c.showLogin))
	mux.HandleFunc("POST /admin/login", c.publicHandler(c.beginLogin))
	for name, a := range assets {
		mux.HandleFunc("GET /admin/"+name, a.serveFile)
	}
	mux.HandleFunc("/", c.publicHandler(func(v *visit) error { return errNotFound }))
	return mux
}

// publicHandler serves a request that needs no session.
func (c *Console) publicHandler(serve func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{w: w, Request: r, console: c}
		v.serve(serve)
	}
}

// withSession serves requests that have a session, and redirects all others to the
// login.
func (c *Console) withSession(route route) http.HandlerFunc {
	return c.publicHandler(func(v *visit) error {
		err := v.readSession()
		if !errors.Is(err, errNoSession) {
			if err != nil {
				return err
			}
			return route.serve(v)
		}
		if route.fragment {
			http.Error(v.w, "The session has ended; log in again.", http.StatusUnauthorized)
			return nil
		}
		v.redirect("login", loginQuery(v.Request))
		return nil
	})
}

// contentPolicy lets pages load files of this origin only, and use nothing inline.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// protect sets the headers of every answer, and refuses requests from other sites.
//
// The Referrer-Policy is same-origin rather than no-referrer: with no-referrer, browsers
// send `Origin: null` with forms, which over plain HTTP would look like another site's.
func (c *Console) protect(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.options.Logger.Warn("console: refused a request that another site made", "origin", r.Header.Get("Origin"), "remote", r.RemoteAddr)
		http.Error(w, "This request came from another site, and is refused.", http.StatusForbidden)
	}))
	guarded := cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		ctx, cancel := context.WithTimeout(r.Context(), c.options.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		guarded.ServeHTTP(w, r)
	})
}

// maxBody bounds the body of a request, in bytes.
const maxBody = 256 << 10

//go:embed static/*
var staticFiles embed.FS

// asset is a file that pages use.
type asset struct {
	name    string
	content []byte
	version string // changes with the content
}

// contentTypes has the types of files by their endings, since the system's table may differ.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// assets are the files by name.
var assets = readAssets()

func readAssets() map[string]asset {
	files, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // embedded: it is there
	}
	read := map[string]asset{}
	for _, f := range files {
		b, err := staticFiles.ReadFile("static/" + f.Name())
		if err != nil {
			panic(err)
		}
		h := sha256.Sum256(b)
		read[f.Name()] = asset{f.Name(), b, hex.EncodeToString(h[:6])}
	}
	return read
}

// assetURL returns the address of a file, which changes with its content.
func assetURL(name string) string { return name + "?v=" + assets[name].version }

// serveFile sends the file. Browsers may keep it if the address has its version.
func (a asset) serveFile(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", contentTypes[path.Ext(a.name)])
	if r.URL.RawQuery == "v="+a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.content))
}
