// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kazahana-db/kazahana/idbuilder/api"
	"github.com/kazahana-db/kazahana/idbuilder/idconfig"
)

// routes returns the handler of all, or of what is not for admins if those have
// an address of their own.
func (w *Worker) routes() http.Handler {
	mux := http.NewServeMux()
	w.routeCommon(mux)
	mux.Handle("GET /v1/id/increment", w.serve(w.serveIncrement))
	mux.Handle("GET /v1/id/formatted", w.serve(w.serveFormatted))
	if !w.options.AdminApart {
		w.routeAdmin(mux)
	}
	return mux
}

// adminRoutes returns the handler of what admins use.
func (w *Worker) adminRoutes() http.Handler {
	mux := http.NewServeMux()
	w.routeCommon(mux)
	w.routeAdmin(mux)
	return mux
}

func (w *Worker) routeCommon(mux *http.ServeMux) {
	mux.Handle("GET /health", w.serve(w.serveHealth))
	mux.Handle("GET /ready", w.serve(w.serveReady))
	mux.Handle("GET /metrics", w.metrics())
	mux.Handle("/", w.serve(w.serveUnknown))
}

func (w *Worker) routeAdmin(mux *http.ServeMux) {
	for _, prefix := range []string{"/v1", "/api"} { // the deployed worker's console asks below /api
		mux.Handle("GET "+prefix+"/auth/verify", w.serve(w.serveVerify))
		mux.Handle("GET "+prefix+"/auth/token", w.serve(w.serveToken))
		mux.Handle("GET "+prefix+"/auth/tokenreset", w.serve(w.serveTokenReset))
		mux.Handle("GET "+prefix+"/config/list", w.serve(w.serveList))
		for _, t := range []idconfig.Type{idconfig.TypeIncrement, idconfig.TypeSnowflake, idconfig.TypeFormatted} {
			mux.Handle("POST "+prefix+"/config/"+string(t), w.serve(w.serveSave(t)))
			mux.Handle("GET "+prefix+"/config/"+string(t), w.serve(w.serveConfig(t)))
			mux.Handle("DELETE "+prefix+"/config/"+string(t), w.serve(w.serveDelete(t)))
		}
	}
	if w.options.Console != nil {
		mux.Handle("/admin/", w.options.Console(w))
	}
}

func (w *Worker) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(w)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// serveUnknown answers requests for paths, or with methods, that are not served.
func (w *Worker) serveUnknown(c *call) error {
	return &api.Error{Code: api.Invalid, Status: http.StatusNotFound, Message: c.r.Method + " " + c.r.URL.Path + ": there is no such endpoint; see /openapi.json"}
}
