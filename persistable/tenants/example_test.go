// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// exampleDB returns a database in memory with the orders of two tenants.
func exampleDB(ctx context.Context) (db *persistable.DB, end func()) {
	engine, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	if db, err = persistable.Open(ctx, engine); err != nil {
		log.Fatal(err)
	}
	for i, tenant := range []string{"acme", "globex", "globex"} {
		orders := OrderStoreOf(db, tenant)
		if err := orders.Create(ctx, orders.New(Order{Number: fmt.Sprint("A-", i), Status: Paid, CreatedAt: day0})); err != nil {
			log.Fatal(err)
		}
	}
	return db, func() {
		if err := errors.Join(db.Close(), engine.Close()); err != nil {
			log.Fatal(err)
		}
	}
}

func Example() {
	ctx := context.Background()
	db, end := exampleDB(ctx)
	defer end()
	all := tenants.Of(db, "tenants")
	for name, err := range all.List(ctx) {
		fmt.Println(name, err)
	}
	fmt.Println(all.Move(ctx, "acme", "acme-inc"))
	order, err := OrderStoreOf(db, "acme-inc").ByNumber(ctx, "A-0")
	fmt.Println(order.TenantID, err)
	fmt.Println(all.Delete(ctx, "acme-inc"))
	fmt.Println(all.Count(ctx))
	// Output:
	// acme <nil>
	// globex <nil>
	// <nil>
	// acme-inc <nil>
	// <nil>
	// 1 <nil>
}

// A quota bounds what a tenant holds.
func ExampleSet_SetQuota() {
	ctx := context.Background()
	db, end := exampleDB(ctx)
	defer end()
	all := tenants.Of(db, "tenants")
	fmt.Println(all.SetQuota(ctx, "globex", tenants.Quota{Records: 2}))
	orders := OrderStoreOf(db, "globex")
	fmt.Println(orders.Create(ctx, orders.New(Order{Number: "A-3", CreatedAt: day0})))
	usage, err := all.Usage(ctx, "globex")
	fmt.Println(usage.Records, err)
	// Output:
	// <nil>
	// persistable: Order: the directory "tenants"/"globex" has 2 records, and a quota of 2: 1 more are not possible: delete records, or raise the quota
	// 2 <nil>
}

// A tenant of any size goes to another database. While it is locked it is read, not
// written.
func ExampleSet_Export() {
	ctx := context.Background()
	from, end := exampleDB(ctx)
	defer end()
	to, endTo := exampleDB(ctx)
	defer endTo()
	all := tenants.Of(from, "tenants")
	lock, err := all.Lock(ctx, "globex", "moves to the other cluster")
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	p, err := all.Export(ctx, "globex", &file, tenants.ExportOptions{Lock: lock})
	fmt.Println(p.Pairs, err)
	orders := OrderStoreOf(from, "globex")
	fmt.Println(orders.Create(ctx, orders.New(Order{Number: "A-3", CreatedAt: day0})))
	fmt.Println(all.Unlock(ctx, lock))

	_, err = tenants.Of(to, "tenants").Import(ctx, "globex-2", &file, tenants.ImportOptions{})
	fmt.Println(err)
	n, err := OrderStoreOf(to, "globex-2").Scan().Count(ctx)
	fmt.Println(n, err)
	// Output:
	// 9 <nil>
	// persistable: Order: the directory "tenants"/"globex" is locked against writes (moves to the other cluster): try again when it is unlocked
	// <nil>
	// <nil>
	// 2 <nil>
}

// A copy reads one version: it is right also while others write.
func ExampleSet_Copy() {
	ctx := context.Background()
	db, end := exampleDB(ctx)
	defer end()
	all := tenants.Of(db, "tenants")
	p, err := all.Copy(ctx, "globex", "globex-test", tenants.CopyOptions{})
	fmt.Println(p.Pairs, err)
	n, err := OrderStoreOf(db, "globex-test").Scan().Count(ctx)
	fmt.Println(n, err)
	// Output:
	// 9 <nil>
	// 2 <nil>
}

// An export that was interrupted is continued from what was written.
func ExampleInspect() {
	ctx := context.Background()
	db, end := exampleDB(ctx)
	defer end()
	all := tenants.Of(db, "tenants")
	lock, err := all.Lock(ctx, "globex", "export")
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := all.Export(ctx, "globex", &file, tenants.ExportOptions{Lock: lock}); err != nil {
		log.Fatal(err)
	}
	file.Truncate(file.Len() - 3) // as after a crash

	was, err := tenants.Inspect(bytes.NewReader(file.Bytes()))
	fmt.Println(was.Complete, was.Types, err)
	file.Truncate(int(was.Offset))
	_, err = all.Export(ctx, "globex", io.Writer(&file), tenants.ExportOptions{Lock: lock, Resume: was})
	fmt.Println(err)
	is, err := tenants.Inspect(&file)
	fmt.Println(is.Complete, is.Pairs, err)
	// Output:
	// false [Order] <nil>
	// <nil>
	// true 9 <nil>
}
