// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"net/http"
	"path"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// route is an endpoint of the API.
type route struct {
	method, path string
	endpoint     endpoint
	consumes     bool // it gives IDs or changes something: HEAD, whose answer is not sent, is refused
}

// publicRoutes need no token, generationRoutes a token of the key.
func (w *Worker) publicRoutes() []route {
	return []route{{"GET", "/health", w.serveHealth, false}, {"GET", "/ready", w.serveReady, false}, {"GET", "/openapi.json", w.serveOpenAPI, false}}
}

func (w *Worker) generationRoutes() []route {
	return []route{
		{"GET", "/v1/id/increment", w.serveIncrement, true},
		{"GET", "/v1/id/snowflake", w.serveSnowflake, true},
		{"DELETE", "/v1/id/snowflake", w.serveRelease, true},
		{"GET", "/v1/id/formatted", w.serveFormatted, true},
	}
}

// adminRoutes need an admin token.
func (w *Worker) adminRoutes() []route {
	routes := []route{
		{"GET", "/v1/auth/verify", w.serveVerify, false},
		{"GET", "/v1/auth/token", w.serveToken, true},
		{"GET", "/v1/auth/tokenreset", w.serveTokenReset, true},
		{"GET", "/v1/config/list", w.serveList, false},
	}
	for _, t := range []idconfig.Type{idconfig.TypeIncrement, idconfig.TypeSnowflake, idconfig.TypeFormatted} {
		path := "/v1/config/" + string(t)
		routes = append(routes, route{"POST", path, w.serveSave(t), true}, route{"GET", path, w.serveConfig(t), false}, route{"DELETE", path, w.serveDelete(t), true})
	}
	return routes
}

// mainHandler returns the handler of all endpoints, without those for admins if these have
// an address of their own.
func (w *Worker) mainHandler() http.Handler {
	routes := append(w.publicRoutes(), w.generationRoutes()...)
	if w.options.AdminApart {
		return w.newMux(routes)
	}
	return w.addConsole(w.newMux(append(routes, w.adminRoutes()...)))
}

// adminHandler returns the handler of the endpoints for admins.
func (w *Worker) adminHandler() http.Handler {
	return w.addConsole(w.newMux(append(w.publicRoutes(), w.adminRoutes()...)))
}

func (w *Worker) newMux(routes []route) *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{} // by path
	refuse := w.endpointHandler(refuseUnknown(methods))
	add := func(path string, r route) {
		mux.Handle(r.method+" "+path, w.endpointHandler(r.endpoint))
		if r.method == "GET" && r.consumes {
			mux.Handle("HEAD "+path, refuse)
		}
		methods[path] = append(methods[path], r.method)
	}
	for _, r := range routes {
		add(r.path, r)
		if rest, ok := strings.CutPrefix(r.path, "/v1/"); ok && !strings.HasPrefix(rest, "id/") {
			add("/api/"+rest, r) // the deployed worker's console uses these paths
		}
	}
	mux.Handle("GET /metrics", w.metricsHandler())
	mux.Handle("/", refuse)
	return mux
}

// refuseUnclean answers requests for paths that are not in their shortest form, such as
// /v1//id, as those for unknown ones: [http.ServeMux] would send clients elsewhere.
func (w *Worker) refuseUnclean(h http.Handler) http.Handler {
	refuse := w.endpointHandler(refuseUnknown(nil))
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !isClean(r.URL.Path) {
			refuse(rw, r)
			return
		}
		h.ServeHTTP(rw, r)
	})
}

// isClean reports whether a path is in its shortest form, but for one slash at its end.
func isClean(p string) bool {
	shortest := path.Clean(p)
	return p == shortest || shortest != "/" && strings.HasSuffix(p, "/") && len(p) == len(shortest)+1
}

func (w *Worker) addConsole(mux *http.ServeMux) http.Handler {
	if w.console != nil {
		mux.Handle("/admin/", w.console)
	}
	return mux
}

func (w *Worker) metricsHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(w)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// refuseUnknown answers requests whose path or method is not served.
func refuseUnknown(methods map[string][]string) endpoint {
	return func(c *call) error {
		if allowed := methods[c.r.URL.Path]; len(allowed) > 0 {
			c.w.Header().Set("Allow", strings.Join(allowed, ", "))
			return &api.Error{Code: api.Invalid, Status: http.StatusMethodNotAllowed, Message: c.r.Method + " " + c.r.URL.Path + ": allowed are " + strings.Join(allowed, ", ")}
		}
		return &api.Error{Code: api.Invalid, Status: http.StatusNotFound, Message: c.r.Method + " " + c.r.URL.Path + ": there is no such endpoint; see /openapi.json"}
	}
}
