// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"context"

	"github.com/kazahana-db/kazahana/internal/shell"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

// openHTTP leases from a lease server.
func openHTTP(_ context.Context, o OpenOptions) (*Home, error) {
	client, err := leasehttp.NewClient(leasehttp.ClientOptions{URL: o.At, Token: o.Token, PlainHTTP: o.plainHTTP})
	if err != nil {
		return nil, shell.Invalid(err)
	}
	return &Home{Provider: client, List: client.List, Services: client.Services, Close: func() error { return nil }}, nil
}
