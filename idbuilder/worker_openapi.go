// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	_ "embed"
	"net/http"
)

// openapi describes the endpoints, in OpenAPI 3.1.
//
//go:embed openapi.json
var openapi []byte

// serveOpenAPI is GET /openapi.json.
func (w *Worker) serveOpenAPI(c *call) error {
	c.body = append(c.body, openapi...)
	return c.sendBody(http.StatusOK)
}
