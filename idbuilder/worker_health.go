// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/api"
)

// serveHealth answers GET /health: a worker that answers is healthy.
func (w *Worker) serveHealth(c *call) error {
	return c.sendData(api.Health{Status: "healthy", Version: w.options.Version})
}

// Ready reports whether the worker can make IDs: the store answers, and, with
// [Options.ControllerRequired], the lease from the controller lasts.
func (w *Worker) Ready(ctx context.Context) api.Readiness {
	r := api.Readiness{Ready: true, Components: map[string]bool{}}
	note := func(component string, ready, required bool, text string) {
		r.Components[component] = ready
		r.Ready = r.Ready && (ready || !required)
		if text != "" {
			if r.Notes == nil {
				r.Notes = map[string]string{}
			}
			r.Notes[component] = text
		}
	}
	ctx, cancel := context.WithTimeout(ctx, min(5*time.Second, w.options.Timeout))
	defer cancel()
	if err := w.store.Ping(ctx); err != nil {
		w.options.Logger.Warn("idbuilder: the store does not answer", "error", err)
		note("storage", false, true, w.apiError(err).Message)
	} else {
		note("storage", true, true, "")
	}
	if f := w.options.Controller; f != nil {
		s := f()
		note("controller", s.Ready, w.options.ControllerRequired, s.Note)
	}
	return r
}

// serveReady answers GET /ready.
func (w *Worker) serveReady(c *call) error {
	r := w.Ready(c.requestContext())
	reply, status := api.Reply[api.Readiness]{Message: api.Success, Data: r}, http.StatusOK
	if !r.Ready {
		reply.Code, reply.Message, status = api.Unavailable, "service unavailable", http.StatusServiceUnavailable
	}
	b, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	c.body = append(c.body, b...)
	return c.sendBody(status)
}
