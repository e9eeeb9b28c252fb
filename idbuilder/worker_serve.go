// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"net/http"
	"time"
)

// endpointHandler returns the handler of an endpoint.
func (w *Worker) endpointHandler(fn endpoint) http.HandlerFunc {
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
