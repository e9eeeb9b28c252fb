// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// A server of leases and a client of it. Outside of an example the server has a
// certificate, and a store that outlives it.
func Example() {
	const token = "3q2+7wAAAAAAAAAAAAAAAA"
	provider, err := memory.New(memory.Options{Server: lease.Options{OnlyListed: true, Services: map[string]lease.ServiceConfig{"orders": {}}}})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := leasehttp.NewHandler(provider, leasehttp.HandlerOptions{
		Tokens: []leasehttp.Token{{Name: "orders", Secret: token, MaxLeased: 4096}},
	})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewTLSServer(handler)
	defer server.Close()

	client, err := leasehttp.NewClient(leasehttp.ClientOptions{URL: server.URL, Token: token, Transport: server.Client().Transport})
	if err != nil {
		log.Fatal(err)
	}
	leases, err := client.Acquire(context.Background(), idgen.AcquireRequest{ServiceID: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(leases[0].Throughput(), "IDs a millisecond")

	_, err = client.Acquire(context.Background(), idgen.AcquireRequest{ServiceID: "order"})
	fmt.Println(errors.Is(err, lease.ErrUnknownService))
	// Output:
	// 256 IDs a millisecond
	// true
}
