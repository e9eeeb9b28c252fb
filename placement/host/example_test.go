// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
)

// purse is a virtual actor: nothing but its methods, which run one at a time, touches it.
type purse struct {
	owner string
	coins int
}

func openPurse(_ context.Context, a *host.Activation) (*purse, error) {
	return &purse{owner: a.Key().ID}, nil
}

func (p *purse) Put(_ context.Context, coins int) (int, error) {
	p.coins += coins
	return p.coins, nil
}

var errTooFew = errors.New("purse: too few coins")

func (p *purse) Take(_ context.Context, coins int) (int, error) {
	if coins > p.coins {
		return 0, fmt.Errorf("%s has %d: %w", p.owner, p.coins, errTooFew)
	}
	p.coins -= coins
	return p.coins, nil
}

func init() { host.RegisterError("purse.too-few", errTooFew) }

// A cluster of one process. With http2.Listen as Options.Transport it can have several.
func Example() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	defer db.Close()
	h, err := host.New(db, host.Options{Name: "process-1"})
	if err != nil {
		panic(err)
	}
	purses, err := host.Register(h, "purse", openPurse)
	if err != nil {
		panic(err)
	}
	put, err := host.Handle(purses, "put", (*purse).Put)
	if err != nil {
		panic(err)
	}
	take, err := host.Handle(purses, "take", (*purse).Take)
	if err != nil {
		panic(err)
	}
	if err := h.Start(ctx); err != nil {
		panic(err)
	}
	defer h.Stop(ctx)

	fmt.Println(put.Call(ctx, "alice", 5)) // alice is made now
	fmt.Println(take.Call(ctx, "alice", 2))
	_, err = take.Call(ctx, "bob", 1)
	fmt.Println(err)
	fmt.Println(errors.Is(err, errTooFew))
	// Output:
	// 5 <nil>
	// 3 <nil>
	// bob has 0: purse: too few coins
	// true
}

// A process without activations calls those of another one.
func ExampleMethodOf() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	defer db.Close()
	network := hosttest.NewNetwork() // in place of http2.Listen and http2.NewClient
	h, err := host.New(db, host.Options{Name: "process-1", Transport: network.Listen("process-1")})
	if err != nil {
		panic(err)
	}
	purses, err := host.Register(h, "purse", openPurse)
	if err != nil {
		panic(err)
	}
	if _, err := host.Handle(purses, "put", (*purse).Put); err != nil {
		panic(err)
	}
	if err := h.Start(ctx); err != nil {
		panic(err)
	}
	defer h.Stop(ctx)

	client, err := host.NewClient(db, host.Options{Transport: network.Listen("client")})
	if err != nil {
		panic(err)
	}
	if err := client.Start(ctx); err != nil {
		panic(err)
	}
	defer client.Stop(ctx)
	put, err := host.MethodOf[int, int](client, "purse", "put")
	if err != nil {
		panic(err)
	}
	fmt.Println(put.Call(ctx, "alice", 5))
	// Output: 5 <nil>
}

func ExampleActivation_After() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	defer db.Close()
	h, err := host.New(db, host.Options{Name: "process-1"})
	if err != nil {
		panic(err)
	}
	rung := make(chan string)
	alarms, err := host.Register(h, "alarm", func(_ context.Context, a *host.Activation) (*host.Activation, error) { return a, nil })
	if err != nil {
		panic(err)
	}
	set, err := host.Handle(alarms, "set", func(a *host.Activation, _ context.Context, text string) (bool, error) {
		a.After(0, func(context.Context) { rung <- a.Key().ID + ": " + text })
		return true, nil
	})
	if err != nil {
		panic(err)
	}
	if err := h.Start(ctx); err != nil {
		panic(err)
	}
	defer h.Stop(ctx)
	if _, err := set.Call(ctx, "kitchen", "tea is ready"); err != nil {
		panic(err)
	}
	fmt.Println(<-rung)
	// Output: kitchen: tea is ready
}
