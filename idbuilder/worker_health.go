// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// serveHealth answers GET /health: a worker that answers is healthy.
func (w *Worker) serveHealth(c *call) error {
	return c.sendData(api.Health{Status: "healthy", Version: w.options.Version})
}

// pingLife is how long the answer of the store to a ping counts.
const pingLife = time.Second

// storeProbe is a question to the store, a durable write for most stores. Requests at the same time,
// or a little later, share the answer: GET /ready needs no token.
type storeProbe struct {
	done chan struct{} // closed when err and at are set
	err  error
	at   time.Time
}

// isOld reports whether the answer does not count any more.
func (p *storeProbe) isOld() bool {
	select {
	case <-p.done:
		return time.Since(p.at) >= pingLife
	default:
		return false
	}
}

// pingStore asks the store, or shares an answer.
func (w *Worker) pingStore(ctx context.Context) error {
	p := w.latestProbe()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// latestProbe returns the ping that runs, or the last one while its answer counts, or begins one.
// A worker that was closed begins none: the store may be closed, too.
func (w *Worker) latestProbe() *storeProbe {
	w.pings.Lock()
	defer w.pings.Unlock()
	if w.latest == nil || w.latest.isOld() {
		w.latest = &storeProbe{done: make(chan struct{})}
		if w.latest.err = w.life.Err(); w.latest.err != nil {
			close(w.latest.done)
		} else {
			go w.runProbe(w.latest)
		}
	}
	return w.latest
}

// awaitProbe waits for the ping that runs. The worker's life has ended, which ends the ping.
func (w *Worker) awaitProbe() {
	w.pings.Lock()
	defer w.pings.Unlock()
	if w.latest != nil {
		<-w.latest.done
	}
}

func (w *Worker) runProbe(p *storeProbe) {
	ctx, cancel := context.WithTimeout(w.life, w.pingTimeout())
	defer cancel()
	defer close(p.done)
	p.err = w.store.Ping(ctx)
	p.at = time.Now()
	if p.err != nil && w.life.Err() == nil {
		w.options.Logger.Warn("idbuilder: the store does not answer", "error", p.err)
	}
}

func (w *Worker) pingTimeout() time.Duration { return min(5*time.Second, w.options.Timeout) }

// Ready reports whether the worker can make IDs: the store answers, or has done so in the last
// second, and, with [Options.ControllerRequired], the lease from the controller lasts.
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
	ctx, cancel := context.WithTimeout(ctx, w.pingTimeout())
	defer cancel()
	if err := w.pingStore(ctx); err != nil {
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
