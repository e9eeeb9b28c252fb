// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"net/http"
	"time"
)

// serve returns the handler of an endpoint.
func (w *Worker) serve(fn endpoint) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		c := calls.Get().(*call)
		c.w, c.r, c.worker, c.begun = rw, r, w, time.Now()
		defer c.end()
		c.startTrace()
		if err := c.run(fn); err != nil {
			c.fail(err)
		}
	}
}
