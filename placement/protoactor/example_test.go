// SPDX-License-Identifier: Apache-2.0

//go:build !race

package protoactor_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/placement/protoactor"
)

func Example() {
	db, err := embedded.OpenMemory() // or embedded.Open(folder), or fdbkv.Open(clusterFile)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	node, err := protoactor.New(db, protoactor.Options{Name: "member-1"})
	if err != nil {
		log.Fatal(err)
	}
	greeter := cluster.NewKind("greeter", actor.PropsFromFunc(func(ctx actor.Context) {
		if name, ok := ctx.Message().(*wrapperspb.StringValue); ok {
			a := protoactor.ActivationOf(ctx)
			ctx.Respond(wrapperspb.String(fmt.Sprintf("Hello %s, I am the only %v, under epoch %d.", name.Value, a.Key(), a.Epoch())))
		}
	}))
	config := cluster.Configure("greetings", node.Provider(), node.Lookup(), remote.Configure("127.0.0.1", 0), cluster.WithKinds(greeter))
	c := cluster.New(actor.NewActorSystem(quiet), config)
	c.StartMember()

	answer, err := c.Request("english", "greeter", wrapperspb.String("Alice"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.(*wrapperspb.StringValue).Value)

	// c.Shutdown(true) does this for the node, with pauses.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(node.Close(ctx))
	// Output:
	// Hello Alice, I am the only greeter/english, under epoch 1.
	// <nil>
}

// quiet drops the logs of protoactor-go.
func quiet(c *actor.Config) {
	c.LoggerFactory = func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
}
