// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
)

// Enumerator tells which services there are, as [lease.Server] does.
type Enumerator interface {
	Services(ctx context.Context, after string, limit int) ([]string, error)
}

// servicesAnswer is the answer to GET /services.
type servicesAnswer struct {
	Services []string `json:"services"`
	Next     string   `json:"next,omitempty"` // continues the list as after; "" if this is its end
}

// fullPage is the most services that an [Enumerator] returns at once.
const fullPage = 1000
