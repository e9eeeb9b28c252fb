// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"crypto/sha256"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/time/rate"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// route is an endpoint of the API.
type route struct {
	method, path string
	endpoint     endpoint
	consumes     bool // it gives IDs or changes something: HEAD is refused, since its answer is not sent
}

// publicRoutes need no token, generationRoutes a token of the key.
func publicRoutes() []route {
	return []route{{"GET", "/health", (*call).serveHealth, false}, {"GET", "/ready", (*call).serveReady, false}, {"GET", "/openapi.json", (*call).serveOpenAPI, false}}
}

func generationRoutes() []route {
	return []route{
		{"GET", "/v1/id/increment", (*call).serveIncrement, true},
		{"GET", "/v1/id/snowflake", (*call).serveSnowflake, true},
		{"DELETE", "/v1/id/snowflake", (*call).serveRelease, true},
		{"GET", "/v1/id/formatted", (*call).serveFormatted, true},
	}
}

// adminRoutes need an admin token.
func adminRoutes() []route {
	routes := []route{
		{"GET", "/v1/auth/verify", (*call).serveVerify, false},
		{"GET", "/v1/auth/token", (*call).serveToken, true},
		{"GET", "/v1/auth/tokenreset", (*call).serveTokenReset, true},
		{"GET", "/v1/config/list", (*call).serveList, false},
	}
	for _, t := range []idconfig.Type{idconfig.TypeIncrement, idconfig.TypeSnowflake, idconfig.TypeFormatted} {
		path := "/v1/config/" + string(t)
		routes = append(routes, route{"POST", path, serveSave(t), true}, route{"GET", path, serveConfig(t), false}, route{"DELETE", path, serveDelete(t), true})
	}
	return routes
}

// mainHandler returns the handler of all endpoints, without those for admins if these have
// an address of their own.
func mainHandler(w *Worker) http.Handler {
	routes := append(publicRoutes(), generationRoutes()...)
	if w.options.AdminApart {
		return newMux(w, routes)
	}
	m := newMux(w, append(routes, adminRoutes()...))
	m.addConsole()
	return m
}

// adminHandler returns the handler of the endpoints for admins.
func adminHandler(w *Worker) http.Handler {
	m := newMux(w, append(publicRoutes(), adminRoutes()...))
	m.addConsole()
	return m
}

// mux sends requests to a worker's endpoints.
type mux struct {
	http.ServeMux
	worker  *Worker
	exact   map[address]*exactRoute
	methods map[string][]string // by path
	refuse  http.HandlerFunc    // answers requests that have no endpoint
}

// address is the method and the path of a request.
type address struct{ method, path string }

// exactRoute is what serves one address.
type exactRoute struct {
	pattern string // as [http.ServeMux] has it
	handler http.HandlerFunc
}

// ServeHTTP implements http.Handler. It finds the endpoints in a map, and all else by [http.ServeMux],
// which takes longer. It answers requests for paths that are not in their shortest form, such as
// /v1//id, as those for unknown ones: [http.ServeMux] would send clients elsewhere.
func (m *mux) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	e := m.exact[address{r.Method, r.URL.Path}]
	switch {
	case e != nil && r.URL.RawPath == "": // RawPath is set if a slash of the path was escaped
		r.Pattern = e.pattern
		e.handler(rw, r)
	case !isClean(r.URL.Path):
		m.refuse(rw, r)
	default:
		m.ServeMux.ServeHTTP(rw, r)
	}
}

func newMux(w *Worker, routes []route) *mux {
	m := &mux{worker: w, exact: map[address]*exactRoute{}, methods: map[string][]string{}}
	m.refuse = refuseUnknown(m.methods).handler(w)
	for _, r := range routes {
		m.addRoute(r.path, r)
		if rest, ok := strings.CutPrefix(r.path, "/v1/"); ok && !strings.HasPrefix(rest, "id/") {
			m.addRoute("/api/"+rest, r) // the deployed worker's console uses these paths
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(w)
	m.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	m.Handle("/", m.refuse)
	return m
}

func (m *mux) addRoute(path string, r route) {
	pattern, handler := r.method+" "+path, r.endpoint.handler(m.worker)
	m.Handle(pattern, handler)
	m.exact[address{r.method, path}] = &exactRoute{pattern, handler}
	if r.method == "GET" && r.consumes {
		m.Handle("HEAD "+path, m.refuse)
	}
	m.methods[path] = append(m.methods[path], r.method)
}

func (m *mux) addConsole() {
	if m.worker.console != nil {
		m.Handle("/admin/", m.worker.console)
	}
}

// endpoint serves a call. An error is sent as an answer, unless one was sent.
type endpoint func(c *call) error

// handler returns the handler of the endpoint.
func (fn endpoint) handler(w *Worker) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		c := calls.Get().(*call)
		c.w, c.r, c.worker, c.begun = rw, r, w, time.Now()
		defer c.endCall()
		c.startTrace()
		if err := c.runEndpoint(fn); err != nil {
			c.sendError(err)
		}
		c.logRequest()
	}
}

// isClean reports whether a path is in its shortest form, but for one slash at its end.
func isClean(p string) bool {
	shortest := path.Clean(p)
	return p == shortest || shortest != "/" && strings.HasSuffix(p, "/") && len(p) == len(shortest)+1
}

// refuseUnknown answers requests with a path or method that is not served.
func refuseUnknown(methods map[string][]string) endpoint {
	return func(c *call) error {
		if allowed := methods[c.r.URL.Path]; len(allowed) > 0 {
			c.w.Header().Set("Allow", strings.Join(allowed, ", "))
			return &api.Error{Code: api.Invalid, Status: http.StatusMethodNotAllowed, Message: c.r.Method + " " + c.r.URL.Path + ": allowed are " + strings.Join(allowed, ", ")}
		}
		return &api.Error{Code: api.Invalid, Status: http.StatusNotFound, Message: c.r.Method + " " + c.r.URL.Path + ": there is no such endpoint; see /openapi.json"}
	}
}

// limits bound the requests of each token.
type limits struct {
	rate  float64 // requests a second; 0: without bound
	burst int
	byWho sync.Map // of *rate.Limiter, by hash of a token
}

// allowRequest counts a request of a token, or refuses it.
func (l *limits) allowRequest(who [32]byte, now time.Time) error {
	if l.rate == 0 {
		return nil
	}
	found, ok := l.byWho.Load(who)
	if !ok {
		found, _ = l.byWho.LoadOrStore(who, rate.NewLimiter(rate.Limit(l.rate), l.burst))
	}
	limiter := found.(*rate.Limiter)
	if limiter.AllowN(now, 1) {
		return nil
	}
	wait := time.Duration((1 - limiter.TokensAt(now)) / l.rate * float64(time.Second))
	return &api.Error{
		Code: api.Unavailable, Status: http.StatusTooManyRequests, RetryAfter: max(wait, time.Millisecond),
		Message: "the token has made more requests than its limit allows",
	}
}

// forgetIdle forgets tokens that may make as many requests at once as a new token.
func (l *limits) forgetIdle() {
	l.byWho.Range(func(who, limiter any) bool {
		if limiter.(*rate.Limiter).Tokens() >= float64(l.burst) {
			l.byWho.Delete(who)
		}
		return true
	})
}

func sha256Sum(text string) [32]byte { return sha256.Sum256([]byte(text)) }
