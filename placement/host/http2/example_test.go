// SPDX-License-Identifier: Apache-2.0

package http2_test

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/http2"
)

// What a Host does with a transport.
func Example() {
	ctx := context.Background()
	server, err := http2.Listen("127.0.0.1:0", http2.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close(ctx)
	err = server.Serve(func(_ context.Context, r host.Request) host.Reply {
		return host.Reply{Status: host.Done, Payload: append([]byte("hello "), r.Payload...)}
	})
	if err != nil {
		panic(err)
	}
	client, err := http2.NewClient(http2.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	reply, err := client.Call(ctx, server.Address(), host.Request{
		Key: placement.Key{Kind: "greeter", ID: "x"}, Method: "greet", Payload: []byte("world"),
	})
	fmt.Printf("%s %v\n", reply.Payload, err)
	// Output: hello world <nil>
}
