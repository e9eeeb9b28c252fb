// SPDX-License-Identifier: Apache-2.0

package idgen_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// noon is the clock of the examples.
func noon() time.Time { return time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC) }

func ExampleClient_Next() {
	ids, err := idgen.NewClient(idgen.Options{Now: noon}) // without Now: the system clock
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	first, err := ids.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("made:", first.Time())
	fmt.Println("without a lease:", first.IsFallback())
	// Output:
	// made: 2026-06-01 12:00:00 +0000 UTC
	// without a lease: true
}

// A program leases machine ids for the IDs it makes, and gives them back.
func ExampleNewClient_managed() {
	leases, err := memory.New(memory.Options{}) // or leasefdb, lease/http, lease/redis, lease/sqlite
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, err := idgen.NewClient(idgen.Options{Provider: leases, ServiceID: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	id, err := ids.Next(ctx)
	fmt.Println(id.IsFallback(), err)
	fmt.Println(ids.Shutdown(ctx))
	_, err = ids.Next(ctx)
	fmt.Println(errors.Is(err, idgen.ErrClosed))
	// Output:
	// false <nil>
	// <nil>
	// true
}

// down is a provider that cannot be reached.
type down struct{}

func (down) Acquire(context.Context, idgen.AcquireRequest) ([]idgen.Lease, error) {
	return nil, errors.New("connection refused")
}
func (down) Release(context.Context, idgen.ReleaseRequest) error { return nil }

// A strict program makes no ID rather than one without a lease.
func ExampleOptions_strict() {
	ids := idgen.Must(idgen.NewClient(idgen.Options{
		Provider:        down{},
		DisableFallback: true,
		Logger:          slog.New(slog.DiscardHandler),
	}))
	defer ids.Shutdown(context.Background()) //nolint:errcheck // there is nothing to give back
	_, err := ids.Next(context.Background())
	fmt.Println(errors.Is(err, idgen.ErrLeaseAcquisition))
	fmt.Println(err)
	// Output:
	// true
	// idgen: failed to acquire a lease and fallback is disabled: connection refused
}

func ExampleClient_NextN() {
	ids := idgen.Must(idgen.NewClient(idgen.Options{}))
	batch := make([]idgen.ID, 1000)
	n, err := ids.NextN(context.Background(), batch)
	fmt.Println(n, err, batch[0] < batch[999])
	// Output: 1000 <nil> true
}

// A strict program refuses a clock that was set back at all.
func ExampleOptions_maxBackward() {
	now := noon()
	ids := idgen.Must(idgen.NewClient(idgen.Options{
		MaxBackward: new(time.Duration(0)),
		Now:         func() time.Time { return now },
	}))
	idgen.Must(ids.Next(context.Background()))

	now = now.Add(-3 * time.Millisecond)
	_, err := ids.Next(context.Background())
	var backward *idgen.ClockBackwardError
	fmt.Println(errors.As(err, &backward), backward.Backward)
	// Output: true 3ms
}

func ExampleNewID() {
	order := struct {
		ID    idgen.ID
		Items []idgen.ID // related records know it before anything is saved
	}{ID: idgen.NewID()}
	order.Items = append(order.Items, idgen.NewID(), idgen.NewID())
	fmt.Println(order.ID < order.Items[0], order.Items[0] < order.Items[1])
	// Output: true true
}

func ExampleNewULIDString() {
	id := idgen.NewULIDString()
	fmt.Println(len(id), id < idgen.NewULIDString())
	// Output: 26 true
}

func ExampleNewUUID() {
	id := idgen.NewUUID()
	fmt.Println(id.Version(), len(id.String()), id.Compare(idgen.NewUUID()))
	// Output: 7 36 -1
}

func ExampleSetDefault() {
	ids := idgen.Must(idgen.NewClient(idgen.Options{Now: noon}))
	idgen.SetDefault(ids)
	defer idgen.SetDefault(nil)
	fmt.Println(idgen.NewID().Time())
	// Output: 2026-06-01 12:00:00 +0000 UTC
}

func ExampleParse() {
	id, err := idgen.Parse("211469771380744768")
	fmt.Println(id.Time(), err)
	_, err = idgen.Parse("0211")
	fmt.Println(err)
	// Output:
	// 2027-08-07 13:05:22.415 +0000 UTC <nil>
	// idgen: invalid id "0211": leading zero; every ID has one spelling only
}

func ExampleID_MarshalJSON() {
	data, err := json.Marshal(struct{ ID idgen.ID }{211469771380744768})
	fmt.Println(string(data), err)
	// Output: {"ID":"211469771380744768"} <nil>
}

// IDs sort by time, so a range of times is a range of IDs.
func ExampleLayout_At() {
	day := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	layout := idgen.DefaultLayout()
	from, _ := layout.At(day)
	to, _ := layout.At(day.AddDate(0, 0, 1))

	id, _ := layout.Compose(day.Add(12*time.Hour), 4711, 3)
	fmt.Println(from <= id && id < to, id.MachineID(), id.Sequence())
	// Output: true 4711 3
}

func ExampleParseUUID() {
	id, err := idgen.ParseUUID("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
	fmt.Println(id, id.Time(), err)
	// Output: 017f22e2-79b0-7cc3-98c4-dc0c0c07398f 2022-02-22 19:22:22 +0000 UTC <nil>
}
